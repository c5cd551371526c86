"""The shared photo gallery: people at an event share photos with no Internet (Thyme FGCS §7.4, Fig. 7).

Each node serves it as a web application. `pictures` looks at photos, `library` remembers them, `sharing` publishes,
downloads and deletes them with a live node, `table` offers that to the page over the node's HTTP interface,
`application` runs it all, and `static` is the page itself: plain modules and styles, in the languages of `messages.js`.
"""
