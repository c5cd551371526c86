// The photos of a tab as tiles. Only those in sight, and a screen around, are in the page; a change touches its own tile.

import { photoUrl } from "./api.js";
import { button, el, icon } from "./dom.js";
import { act } from "./notices.js";
import { now, on, shown, state, tell } from "./state.js";
import { openViewer } from "./viewer.js";
import { ago, away, size, t, told } from "./words.js";

const HOLD_MS = 450;
const AROUND = 1;  // screens above and below that are kept ready

export function gridView(emptyActions) {
  const tiles = new Map();  // those in the page, by the photo's id
  const list = el("ul", { class: "grid", "aria-label": t(state.view) });
  const empty = el("div", { class: "empty" });
  const root = el("div", {}, list, empty);
  let photos = [];
  let asked = 0;
  let placed = "";

  function renderAll() {
    photos = shown();
    placed = "";
    list.hidden = photos.length === 0;
    empty.hidden = photos.length > 0;
    list.setAttribute("aria-label", t(state.view));
    if (photos.length) return place();
    const nothing = state.search ? t("found_nothing", { text: state.search }) : t(`${state.view}_empty`);
    const more = state.search ? [] : [el("p", { text: t(`${state.view}_empty_more`) }), emptyActions(state.view)];
    empty.replaceChildren(icon(state.search ? "search" : state.view === "available" ? "bell" : "photo"), el("h2", { text: nothing }), ...more);
    place();
  }

  // Put what is in sight where it belongs. Sizes come from the style sheet, so nothing has to be measured tile by tile.
  function place() {
    asked = 0;
    const style = getComputedStyle(list);
    const [gap, least, caption] = ["--gap", "--least", "--caption"].map((name) => parseFloat(style.getPropertyValue(name)));
    const whole = list.clientWidth || root.clientWidth;
    const columns = Math.max(1, Math.floor((whole + gap) / (least + gap)));
    const wide = (whole - gap * (columns - 1)) / columns;
    const high = Math.round(wide * 0.75) + caption;
    const rows = Math.ceil(photos.length / columns);
    list.style.height = `${Math.max(0, rows * (high + gap) - gap)}px`;
    const above = window.scrollY - (list.getBoundingClientRect().top + window.scrollY);
    const first = Math.max(0, Math.floor((above - AROUND * innerHeight) / (high + gap)));
    const last = Math.ceil((above + (1 + AROUND) * innerHeight) / (high + gap));
    const range = `${first} ${last} ${columns} ${wide} ${high}`;
    if (range === placed) return;
    placed = range;
    const wanted = new Set();
    photos.slice(first * columns, last * columns).forEach((photo, i) => {
      wanted.add(photo.id);
      const at = first * columns + i;
      const tile = tileFor(photo);
      tile.style.transform = `translate(${(at % columns) * (wide + gap)}px, ${Math.floor(at / columns) * (high + gap)}px)`;
      tile.style.width = `${wide}px`;
      tile.style.height = `${high}px`;
      tile.setAttribute("aria-posinset", at + 1);
      tile.setAttribute("aria-setsize", photos.length);
      if (list.children[i] !== tile) list.insertBefore(tile, list.children[i] || null);
    });
    for (const [id, { tile }] of tiles) {
      if (!wanted.has(id) && !(tile.contains(document.activeElement) && state.photos.has(id) && photos.some((photo) => photo.id === id))) {
        tile.remove();
        tiles.delete(id);
      }
    }
  }

  function tileFor(photo) {
    const known = tiles.get(photo.id);
    if (known && known.photo === photo) return known.tile;
    const tile = tileOf(photo);
    if (known) {
      const picture = known.tile.querySelector("img");  // not loaded again while a download gets on
      if (picture && known.photo.here === photo.here) tile.querySelector("img")?.replaceWith(picture);
      const focused = known.tile.contains(document.activeElement) ? document.activeElement.dataset.name : null;
      known.tile.replaceWith(tile);
      if (focused) (tile.querySelector(`[data-name="${focused}"]`) || tile.querySelector(".open")).focus();
    } else if (now() - photo.at_s < 10) tile.classList.add("arrived");
    tiles.set(photo.id, { tile, photo });
    return tile;
  }

  function mark() {
    root.classList.toggle("choosing", state.chosen.size > 0);
    for (const [id, { tile }] of tiles) {
      const chosen = state.chosen.has(id);
      tile.classList.toggle("chosen", chosen);
      tile.querySelector("input").checked = chosen;
    }
  }
  const soon = (work) => () => { if (!asked) asked = requestAnimationFrame(work); };
  const moved = soon(place);
  let changed = 0;
  const change = () => { if (!changed) changed = requestAnimationFrame(() => { changed = 0; renderAll(); }); };
  const watch = new ResizeObserver(moved);
  watch.observe(root);
  addEventListener("scroll", moved, { passive: true });
  const stops = [on("photo", change), on("all", renderAll), on("filter", renderAll), on("chosen", mark), () => removeEventListener("scroll", moved), () => watch.disconnect()];
  requestAnimationFrame(() => { renderAll(); mark(); });
  return { root, stop: () => stops.forEach((stop) => stop()) };
}

export function toggle(id, wanted = !state.chosen.has(id)) {
  if (wanted) state.chosen.add(id);
  else state.chosen.delete(id);
  tell("chosen");
}

function tileOf(photo) {
  const choose = el("input", { type: "checkbox", "aria-label": t("select", { name: photo.name }), "data-name": "choose", checked: state.chosen.has(photo.id), onchange: (event) => toggle(photo.id, event.target.checked) });
  const picture = photo.picture
    ? el("img", { src: photoUrl(photo, "thumb"), alt: "", loading: "lazy", decoding: "async", draggable: "false" })
    : el("span", { class: "blank" }, icon("photo"));
  const open = el("button", { type: "button", class: "open", "aria-label": t("show", { name: photo.name }), "data-name": "open", onclick: () => (state.chosen.size ? toggle(photo.id) : openViewer(photo.id)) }, picture);
  holdToChoose(open, photo.id);
  const who = photo.own ? t("by_you") : t("by", { who: photo.by || t("somebody") });
  const facts = [photo.tab === "private" ? size(photo.size_bytes) : who, photo.tab !== "private" && ago(photo.at_s, now())];
  return el(
    "li",
    { class: `tile ${photo.state} ${state.chosen.has(photo.id) ? "chosen" : ""}`, "data-id": photo.id, "data-at": photo.at_s },
    open,
    el("label", { class: "choose" }, choose),
    photo.state === "new" && el("span", { class: "badge", text: t("new") }),
    photo.tab === "available" && photo.distance && el("span", { class: "far", title: away(photo.distance), text: photo.distance.cells ? t("metres_away", { metres: photo.distance.metres }) : t("near") }),
    progress(photo),
    el(
      "div",
      { class: "caption" },
      el("strong", { text: photo.name }),
      el("span", { class: "faint", text: facts.filter(Boolean).join(" · ") }),
      photo.error ? el("span", { class: "error", title: told(photo.error), text: told(photo.error) }) : el("span", { class: "faint tags", text: photo.tags.map((tag) => `#${tag}`).join(" ") }),
      actions(photo),
    ),
  );
}

function progress(photo) {
  if (photo.state === "downloading") {
    return el("progress", { max: photo.size_bytes || 1, value: photo.have_bytes, "aria-label": t("downloading") });
  }
  if (photo.state === "publishing") return el("progress", { "aria-label": t("publishing") });
  if (photo.state === "deleting") return el("div", { class: "veil" }, el("span", { text: t("deleting") }), button(t("undo"), { icon: "retry", kind: "small", name: "undo", onclick: () => act(photo, "undo") }));
  return null;
}

function actions(photo) {
  const offer = (what, sign, kind = "") => button(t(what), { icon: sign, kind: `small ${kind}`, name: what, onclick: () => act(photo, what) });
  const quiet = (what, sign) => button(t(what), { icon: sign, kind: "small", quiet: true, name: what, onclick: () => act(photo, what) });
  switch (photo.state) {
    case "new": return el("div", { class: "row" }, offer("download", "download", "primary"), quiet("later", "later"), quiet("dismiss", "close"));
    case "later": return el("div", { class: "row" }, offer("download", "download", "primary"), quiet("dismiss", "close"));
    case "failed": return el("div", { class: "row" }, button(t("retry"), { icon: "retry", kind: "small primary", name: "download", onclick: () => act(photo, "download") }), quiet("dismiss", "close"));
    case "private": return el("div", { class: "row" }, button(t("publish"), { icon: "share", kind: "small primary", name: "publish", onclick: () => tell("publish", [photo.id]) }), quiet("delete", "trash"));
    default: return null;
  }
}

// On a phone, holding a tile begins a selection.
function holdToChoose(element, id) {
  let timer = null;
  const stop = () => clearTimeout(timer);
  element.addEventListener("touchstart", () => {
    timer = setTimeout(() => {
      toggle(id, true);
      element.addEventListener("click", (event) => { event.preventDefault(); event.stopImmediatePropagation(); }, { once: true, capture: true });
    }, HOLD_MS);
  }, { passive: true });
  for (const end of ["touchend", "touchmove", "touchcancel"]) element.addEventListener(end, stop, { passive: true });
  element.addEventListener("contextmenu", (event) => { if (event.pointerType === "touch") event.preventDefault(); });
}
