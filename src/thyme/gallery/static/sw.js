// The service worker: keeps the page's shell for when the node restarts, and takes photos shared from other apps.

const SHELL = "thyme-shell-1";
const FILES = ["/", "/manifest.webmanifest", "/static/icon.svg", "/static/style.css", "/static/dialogs.css",
  ...["app", "api", "bell", "dialogs", "dom", "grid", "messages", "notices", "places", "publish", "said", "state", "status", "viewer", "words"].map((name) => `/static/${name}.js`)];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(SHELL).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name !== SHELL).map((name) => caches.delete(name))));
  event.waitUntil(old.then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { pathname, origin } = new URL(request.url);
  if (origin !== location.origin) return;
  if (request.method === "POST" && pathname === "/share") event.respondWith(take(request));
  else if (request.method === "GET" && (pathname === "/" || FILES.includes(pathname))) event.respondWith(fresh(request, pathname));
});

async function fresh(request, pathname) {
  try {
    const response = await fetch(request);
    if (response.ok) (await caches.open(SHELL)).put(pathname, response.clone());
    return response;
  } catch {
    return (await caches.match(pathname)) || Response.error();
  }
}

async function take(request) {
  const form = await request.formData();
  for (const file of form.getAll("photos")) {
    await fetch(`/v1/gallery/photos?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
  }
  return Response.redirect("/#private", 303);
}
