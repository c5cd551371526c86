// What the node says of errors, in other languages. It speaks English, in one line; `$1` is a part of that line. A
// sentence that is missing here is shown as it was said, and as the node's.

export const said = [
  [/^give your name; others see it with your photos$/, {
    pt: "Indique o seu nome, que os outros veem com as suas fotos.",
    es: "Dé su nombre, que los demás ven con sus fotos.",
    fr: "Donnez votre nom, que les autres voient avec vos photos.",
  }],
  [/^this invitation is no longer valid; .+$/, {
    pt: "Este convite já não é válido; peça um código novo ao anfitrião.",
    es: "Esta invitación ya no es válida; pida un código nuevo al anfitrión.",
    fr: "Cette invitation n’est plus valable ; demandez un nouveau code à l’hôte.",
  }],
  [/^only the host of this gallery can do that$/, {
    pt: "Só o anfitrião desta galeria pode fazer isso.",
    es: "Solo el anfitrión de esta galería puede hacer eso.",
    fr: "Seul l’hôte de cette galerie peut faire cela.",
  }],
  [/^another guest is called (.+); choose another name$/, {
    pt: "Outro convidado chama-se $1; escolha outro nome.",
    es: "Otro invitado se llama $1; elija otro nombre.",
    fr: "Un autre invité s’appelle $1 ; choisissez un autre nom.",
  }],
  [/^(\d+) guests are here, which is the limit$/, {
    pt: "Já há $1 convidados, e não pode haver mais.",
    es: "Ya hay $1 invitados, y no puede haber más.",
    fr: "Il y a déjà $1 invités, et il ne peut y en avoir plus.",
  }],
  [/^guests can keep (\d+) bytes here; delete photos first$/, {
    pt: "Os convidados podem guardar aqui $1 bytes; apague fotos primeiro.",
    es: "Los invitados pueden guardar aquí $1 bytes; borre fotos antes.",
    fr: "Les invités peuvent garder ici $1 octets ; supprimez d’abord des photos.",
  }],
  [/^guests can add (.+) photos a minute; wait a moment$/, {
    pt: "Os convidados podem juntar $1 fotos por minuto; espere um pouco.",
    es: "Los invitados pueden añadir $1 fotos por minuto; espere un poco.",
    fr: "Les invités peuvent ajouter $1 photos par minute ; attendez un peu.",
  }],
  [/^guests can have (\d+) subscriptions; end one first$/, {
    pt: "Os convidados podem ter $1 subscrições; cancele uma primeiro.",
    es: "Los invitados pueden tener $1 suscripciones; cancele una antes.",
    fr: "Les invités peuvent avoir $1 abonnements ; mettez-en d’abord fin à un.",
  }],
  [/^give this node's token, .+$/, {
    pt: "Esta página precisa da chave deste nó.",
    es: "Esta página necesita la clave de este nodo.",
    fr: "Cette page a besoin de la clé de ce nœud.",
  }],
  [/^this is not a photo that can be shared; expected (.+)$/, {
    pt: "Isto não é uma foto que se possa partilhar; são aceites JPEG, PNG, WebP e GIF.",
    es: "Esto no es una foto que se pueda compartir; se aceptan JPEG, PNG, WebP y GIF.",
    fr: "Ce n’est pas une photo que l’on peut partager ; JPEG, PNG, WebP et GIF sont acceptés.",
  }],
  [/^the photo is damaged and cannot be read$/, {
    pt: "A foto está danificada e não se consegue ler.",
    es: "La foto está dañada y no se puede leer.",
    fr: "La photo est abîmée et ne peut être lue.",
  }],
  [/^the (\S+) file is damaged$/, {
    pt: "O ficheiro $1 está danificado.",
    es: "El archivo $1 está dañado.",
    fr: "Le fichier $1 est abîmé.",
  }],
  [/^the picture has too many pixels; at most (\S+) million can be shown$/, {
    pt: "A imagem tem demasiados pontos; só se mostram até $1 milhões.",
    es: "La imagen tiene demasiados puntos; solo se muestran hasta $1 millones.",
    fr: "L’image a trop de points ; on n’en affiche que $1 millions au plus.",
  }],
  [/^the photo has (\d+) bytes; at most (\d+)$/, {
    pt: "A foto tem $1 bytes; no máximo podem ser $2.",
    es: "La foto tiene $1 bytes; como máximo pueden ser $2.",
    fr: "La photo a $1 octets ; au plus $2.",
  }],
  [/^too many bytes: at most (\d+) bytes$/, {
    pt: "O ficheiro é grande demais: no máximo $1 bytes.",
    es: "El archivo es demasiado grande: como máximo $1 bytes.",
    fr: "Le fichier est trop grand : au plus $1 octets.",
  }],
  [/^the area is (.+) m; expected sides of up to (\S+) m$/, {
    pt: "A área é de $1 m; os lados podem ter até $2 m.",
    es: "La superficie es de $1 m; los lados pueden medir hasta $2 m.",
    fr: "La surface est de $1 m ; les côtés ont au plus $2 m.",
  }],
  [/^give the gallery a name$/, {
    pt: "Dê um nome à galeria.",
    es: "Dé un nombre a la galería.",
    fr: "Donnez un nom à la galerie.",
  }],
  [/^namespace .+: give a name of 1 to (\d+) printable characters$/, {
    pt: "O nome da galeria deve ter entre 1 e $1 caracteres legíveis.",
    es: "El nombre de la galería debe tener entre 1 y $1 caracteres legibles.",
    fr: "Le nom de la galerie doit avoir de 1 à $1 caractères lisibles.",
  }],
  [/^the passphrase of namespace .+ has (\d+) characters; give at least (\d+), .+$/, {
    pt: "A frase secreta tem $1 caracteres; são precisos pelo menos $2, de preferência quatro palavras que ninguém adivinhe.",
    es: "La frase secreta tiene $1 caracteres; hacen falta al menos $2, mejor cuatro palabras que nadie adivine.",
    fr: "La phrase secrète a $1 caractères ; il en faut au moins $2, de préférence quatre mots que personne ne devine.",
  }],
  [/^an invitation needs no passphrase; give one of the two$/, {
    pt: "Um convite não precisa de frase secreta; indique só um dos dois.",
    es: "Una invitación no necesita frase secreta; dé solo una de las dos.",
    fr: "Une invitation n’a pas besoin de phrase secrète ; donnez l’une des deux.",
  }],
  [/^.+ is not an invitation; .+$/, {
    pt: "Isto não é um convite que se consiga ler.",
    es: "Esto no es una invitación que se pueda leer.",
    fr: "Ce n’est pas une invitation lisible.",
  }],
  [/^this device is in another gallery called (.+); choose another name$/, {
    pt: "Este dispositivo está noutra galeria chamada $1; escolha outro nome.",
    es: "Este dispositivo está en otra galería llamada $1; elija otro nombre.",
    fr: "Cet appareil est dans une autre galerie appelée $1 ; choisissez un autre nom.",
  }],
  [/^this device knows (\d+) galleries, which is the limit$/, {
    pt: "Este dispositivo já conhece $1 galerias, e não pode conhecer mais.",
    es: "Este dispositivo ya conoce $1 galerías, y no puede conocer más.",
    fr: "Cet appareil connaît déjà $1 galeries, et ne peut en connaître plus.",
  }],
  [/^(.+) is shared by (\S+), and galleries by (\S+)$/, {
    pt: "$1 é partilhado por $2, e as galerias por $3.",
    es: "$1 se comparte por $2, y las galerías por $3.",
    fr: "$1 est partagé par $2, et les galeries par $3.",
  }],
  [/^choose 1 to (\d+) photos for an archive$/, {
    pt: "Escolha entre 1 e $1 fotos para um arquivo.",
    es: "Elija entre 1 y $1 fotos para un archivo.",
    fr: "Choisissez de 1 à $1 photos pour une archive.",
  }],
  [/^this position is outside the map$/, {
    pt: "Esse lugar não está neste mapa.",
    es: "Ese lugar no está en este mapa.",
    fr: "Ce lieu n’est pas sur cette carte.",
  }],
  [/^the photo is not on this device; download it first$/, {
    pt: "A foto não está neste dispositivo; transfira-a primeiro.",
    es: "La foto no está en este dispositivo; descárguela antes.",
    fr: "La photo n’est pas sur cet appareil ; téléchargez-la d’abord.",
  }],
  [/^the photo is \S+; that cannot be done with it now$/, {
    pt: "Neste momento não se pode fazer isso com a foto.",
    es: "En este momento no se puede hacer eso con la foto.",
    fr: "On ne peut pas faire cela avec la photo en ce moment.",
  }],
  [/^the deletion has been sent already$/, {
    pt: "A foto já foi apagada em todo o lado.",
    es: "La foto ya se ha borrado en todas partes.",
    fr: "La photo est déjà supprimée partout.",
  }],
  [/^there is no such photo here$/, {
    pt: "Essa foto já não está aqui.",
    es: "Esa foto ya no está aquí.",
    fr: "Cette photo n’est plus ici.",
  }],
  [/^there is no (.+)$/, {
    pt: "Não existe: $1.",
    es: "No existe: $1.",
    fr: "N’existe pas : $1.",
  }],
  [/^(\d+) retrievals are in progress; wait for some to finish$/, {
    pt: "Já há $1 transferências em curso; espere que algumas terminem.",
    es: "Ya hay $1 descargas en curso; espere a que terminen algunas.",
    fr: "$1 téléchargements sont en cours ; attendez que certains finissent.",
  }],
  [/^give at least one tag to search for; .+$/, {
    pt: "Diga pelo menos uma etiqueta que quer; só o que não quer não basta para procurar.",
    es: "Diga al menos una etiqueta que quiera; lo que no quiere no basta para buscar.",
    fr: "Donnez au moins une étiquette voulue ; ce qui n’est pas voulu ne suffit pas pour chercher.",
  }],
  [/^the query can never match, it contradicts itself: (.+)$/, {
    pt: "Isto contradiz-se e nunca terá resultados: $1",
    es: "Esto se contradice y nunca tendrá resultados: $1",
    fr: "Cela se contredit et n’aura jamais de résultat : $1",
  }],
  [/^the query expands to more than (\d+) conjunctions: .+$/, {
    pt: "São combinações a mais (mais de $1); subscreva as partes uma a uma.",
    es: "Son demasiadas combinaciones (más de $1); suscríbase a las partes una a una.",
    fr: "Trop de combinaisons (plus de $1) ; abonnez-vous aux parties une à une.",
  }],
  [/^the query has (\d+) characters.*: at most (\d+) .+$/, {
    pt: "São $1 caracteres; no máximo podem ser $2.",
    es: "Son $1 caracteres; como máximo pueden ser $2.",
    fr: "Il y a $1 caractères ; au plus $2.",
  }],
  [/^the tag (.+) is empty: .+$/, {
    pt: "A etiqueta $1 está vazia.",
    es: "La etiqueta $1 está vacía.",
    fr: "L’étiquette $1 est vide.",
  }],
  [/^the tag (.+) has (\d+) characters: at most (\d+) are allowed$/, {
    pt: "A etiqueta $1 tem $2 caracteres; no máximo podem ser $3.",
    es: "La etiqueta $1 tiene $2 caracteres; como máximo pueden ser $3.",
    fr: "L’étiquette $1 a $2 caractères ; au plus $3.",
  }],
  [/^the tag (.+) contains the control character (.+): remove it$/, {
    pt: "A etiqueta $1 tem um carácter invisível ($2); retire-o.",
    es: "La etiqueta $1 tiene un carácter invisible ($2); quítelo.",
    fr: "L’étiquette $1 contient un caractère invisible ($2) ; retirez-le.",
  }],
  [/^the time frame ends at .+, before it starts at .+$/, {
    pt: "O intervalo acaba antes de começar.",
    es: "El intervalo acaba antes de empezar.",
    fr: "L’intervalle finit avant de commencer.",
  }],
  [/^the store in .+ has no room for .+$/, {
    pt: "Não há mais espaço no que este nó pode guardar; apague alguma coisa primeiro.",
    es: "No queda espacio en lo que este nodo puede guardar; borre algo antes.",
    fr: "Il n’y a plus de place dans ce que ce nœud peut garder ; supprimez d’abord quelque chose.",
  }],
  [/^the disk of .+ is full; .+$/, {
    pt: "O disco está cheio; liberte espaço ou apague fotos.",
    es: "El disco está lleno; libere espacio o borre fotos.",
    fr: "Le disque est plein ; libérez de la place ou supprimez des photos.",
  }],
  [/^\S+ failed: timeout$/, {
    pt: "Ninguém respondeu a tempo.",
    es: "Nadie ha respondido a tiempo.",
    fr: "Personne n’a répondu à temps.",
  }],
  [/^\S+ failed: not found$/, {
    pt: "Ninguém ao alcance tem a foto.",
    es: "Nadie al alcance tiene la foto.",
    fr: "Personne à portée n’a la photo.",
  }],
  [/^\S+ failed: deleted by its owner$/, {
    pt: "O autor apagou esta foto.",
    es: "El autor ha borrado esta foto.",
    fr: "L’auteur a supprimé cette photo.",
  }],
  [/^\S+ failed: expired$/, {
    pt: "O prazo desta foto terminou.",
    es: "El plazo de esta foto ha terminado.",
    fr: "Le délai de cette photo est écoulé.",
  }],
  [/^\S+ failed: refused$/, {
    pt: "O pedido foi recusado.",
    es: "La petición fue rechazada.",
    fr: "La demande a été refusée.",
  }],
  [/^\S+ failed: cancelled$/, {
    pt: "O pedido foi cancelado.",
    es: "La petición fue cancelada.",
    fr: "La demande a été annulée.",
  }],
  [/^\S+ failed: damaged$/, {
    pt: "O que chegou estava danificado.",
    es: "Lo que llegó estaba dañado.",
    fr: "Ce qui est arrivé était abîmé.",
  }],
  [/^another site cannot drive this node$/, {
    pt: "Outro sítio não pode comandar este nó.",
    es: "Otro sitio no puede mandar en este nodo.",
    fr: "Un autre site ne peut commander ce nœud.",
  }],
  [/^the node made a mistake; its log says more$/, {
    pt: "O nó enganou-se; o registo dele diz mais.",
    es: "El nodo se ha equivocado; su registro dice más.",
    fr: "Le nœud s’est trompé ; son journal en dit plus.",
  }],
];
