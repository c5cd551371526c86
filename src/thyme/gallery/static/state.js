// What the page knows, and who wants to hear of changes. One copy of the truth: the node's, told by events.

import { ask } from "./api.js";

export const state = {
  gallery: { name: "", closed: false }, me: { node: "", by: "", guest_of: null }, photos: new Map(), subscriptions: [], tags: [],
  every: "photo", limits: {}, demo: false, skew: 0, view: "available", chosen: new Set(), search: "", online: false, people: 0, otherPassphrase: false,
};

const listeners = new Map();

export function on(topic, listener) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic).add(listener);
  return () => listeners.get(topic).delete(listener);
}

export function tell(topic, detail) {
  for (const listener of [...(listeners.get(topic) || [])]) listener(detail);
}

export const now = () => Date.now() / 1000 + state.skew;

const LOOK_MS = 10000;  // nothing tells of a device that uses another passphrase

let source = null;
let looking = 0;

export async function load() {
  const got = await ask("GET", "/v1/gallery/state");
  Object.assign(state, { gallery: got.gallery, me: got.me, subscriptions: got.subscriptions, tags: got.tags, every: got.every_photo, limits: got.limits, demo: got.demo });
  state.skew = got.now_s - Date.now() / 1000;
  state.photos = new Map(got.photos.map((photo) => [photo.id, photo]));
  for (const id of state.chosen) if (!state.photos.has(id)) state.chosen.delete(id);
  state.online = true;
  tell("all");
  await lookAround();
  return got.last_event;
}

export function follow(after) {
  source?.close();
  clearInterval(looking);
  looking = setInterval(() => lookAround().catch(() => {}), LOOK_MS);
  source = new EventSource(`/v1/gallery/events?after=${encodeURIComponent(after)}`);
  let broke = false;
  source.onopen = async () => {
    if (broke) {
      broke = false;
      follow(await load());  // another life of the node, or another gallery: begin anew
    }
  };
  source.onerror = () => {
    broke = true;
    state.online = false;
    tell("online");
    if (source.readyState === EventSource.CLOSED) setTimeout(reconnect, 1000);
  };
  source.addEventListener("photo", (event) => put(JSON.parse(event.data)));
  source.addEventListener("photo gone", (event) => {
    const { id, deleted_by: by } = JSON.parse(event.data);
    if (by !== undefined && by !== null && state.photos.get(id)) tell("deleted", { photo: state.photos.get(id), by });
    drop(id);
  });
  source.addEventListener("notified", () => soon("subscriptions", refreshSubscriptions));
  source.addEventListener("unsubscribed", () => soon("subscriptions", refreshSubscriptions));
  source.addEventListener("peer", () => soon("people", lookAround));
  source.addEventListener("lost", async () => follow(await load()));
}

async function reconnect() {
  try {
    follow(await load());
  } catch (error) {
    if (error.status === 401) return location.reload();  // the host has ended this session
    setTimeout(reconnect, 1500);
  }
}

export function put(photo) {
  const before = state.photos.get(photo.id);
  if (before && before.told >= photo.told) return;  // an answer that an event has overtaken
  state.photos.set(photo.id, photo);
  for (const tag of photo.tags) if (!state.tags.includes(tag)) state.tags.push(tag);
  tell("photo", { photo, before });
}

export function drop(id) {
  const before = state.photos.get(id);
  if (!before) return;
  state.photos.delete(id);
  state.chosen.delete(id);
  tell("photo", { photo: null, before });
}

const waiting = new Map();
function soon(name, action) {
  if (!waiting.has(name)) waiting.set(name, setTimeout(() => { waiting.delete(name); action().catch(() => {}); }, 300));
}

export async function refreshSubscriptions() {
  state.subscriptions = await ask("GET", "/v1/gallery/subscriptions");
  tell("subscriptions");
}

async function lookAround() {
  const around = await ask("GET", "/v1/gallery/around");
  Object.assign(state, { people: around.devices, otherPassphrase: around.other_passphrase });
  tell("online");
}

export function shown(view = state.view) {
  const words = state.search.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return [...state.photos.values()]
    .filter((photo) => photo.tab === view && words.every((word) => text(photo).includes(word)))
    .sort((a, b) => b.at_s - a.at_s || (a.id < b.id ? -1 : 1));
}

const text = (photo) => [photo.name, photo.by, ...photo.tags].join(" ").toLocaleLowerCase();

export const isGuest = () => state.me.guest_of !== null;

export const fresh = () => [...state.photos.values()].filter((photo) => photo.state === "new");
