// The photos of a tab as tiles. A change touches its own tile only, and tiles out of sight are not laid out.

import { photoUrl } from "./api.js";
import { button, el, icon } from "./dom.js";
import { act } from "./notices.js";
import { matches, now, on, shown, state, tell } from "./state.js";
import { openViewer } from "./viewer.js";
import { ago, away, size, t } from "./words.js";

const HOLD_MS = 450;

export function gridView(emptyActions) {
  const tiles = new Map();
  const list = el("ul", { class: "grid", "aria-label": t(state.view) });
  const empty = el("div", { class: "empty" });
  const root = el("div", {}, list, empty);

  function renderAll() {
    const photos = shown();
    const wanted = new Set(photos.map((photo) => photo.id));
    for (const [id, tile] of tiles) {
      if (!wanted.has(id)) {
        tile.remove();
        tiles.delete(id);
      }
    }
    list.replaceChildren(...photos.map((photo) => tiles.get(photo.id) ?? tiles.set(photo.id, tileOf(photo)).get(photo.id)));
    list.setAttribute("aria-label", t(state.view));
    showEmpty();
  }

  function showEmpty() {
    list.hidden = tiles.size === 0;
    empty.hidden = tiles.size > 0;
    if (tiles.size) return;
    const nothing = state.search ? t("found_nothing", { text: state.search }) : t(`${state.view}_empty`);
    empty.replaceChildren(icon(state.search ? "search" : state.view === "available" ? "bell" : "photo"), el("h2", { text: nothing }), !state.search && el("p", { text: t(`${state.view}_empty_more`) }), !state.search && emptyActions(state.view));
  }

  function change({ photo, before }) {
    const id = (photo || before).id;
    const old = tiles.get(id);
    if (!photo || !matches(photo)) {
      if (old) {
        old.remove();
        tiles.delete(id);
        showEmpty();
      }
      return;
    }
    const tile = tileOf(photo);
    tiles.set(id, tile);
    if (old && before && before.at_s === photo.at_s) {
      const picture = old.querySelector("img");  // not loaded again while a download gets on
      if (picture && before.here === photo.here) tile.querySelector("img")?.replaceWith(picture);
      const focused = old.contains(document.activeElement) ? document.activeElement.dataset.name : null;
      old.replaceWith(tile);
      if (focused) tile.querySelector(`[data-name="${focused}"]`)?.focus();
      return;
    }
    old?.remove();
    const following = [...list.children].find((other) => Number(other.dataset.at) < photo.at_s);
    list.insertBefore(tile, following || null);
    tile.classList.add("arrived");
    showEmpty();
  }

  const stops = [on("photo", change), on("all", renderAll), on("filter", renderAll), on("chosen", mark)];
  function mark() {
    root.classList.toggle("choosing", state.chosen.size > 0);
    for (const [id, tile] of tiles) {
      const chosen = state.chosen.has(id);
      tile.classList.toggle("chosen", chosen);
      tile.querySelector("input").checked = chosen;
    }
  }
  renderAll();
  mark();
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
  const facts = [photo.tab === "private" ? size(photo.size_bytes) : who, photo.tab !== "private" && ago(photo.at_s, now()), photo.tab === "available" && away(photo.distance)];
  return el(
    "li",
    { class: `tile ${photo.state} ${state.chosen.has(photo.id) ? "chosen" : ""}`, "data-id": photo.id, "data-at": photo.at_s },
    open,
    el("label", { class: "choose" }, choose),
    photo.state === "new" && el("span", { class: "badge", text: t("new") }),
    progress(photo),
    el(
      "div",
      { class: "caption" },
      el("strong", { text: photo.name }),
      el("span", { class: "faint", text: facts.filter(Boolean).join(" · ") }),
      el("span", { class: "faint tags", text: photo.tags.map((tag) => `#${tag}`).join(" ") }),
      photo.error && el("span", { class: "error", text: photo.error }),
      actions(photo),
    ),
  );
}

function progress(photo) {
  if (photo.state === "downloading") {
    return el("progress", { max: photo.size_bytes || 1, value: photo.have_bytes, "aria-label": t("downloading") });
  }
  if (photo.state === "publishing") return el("progress", { "aria-label": t("publishing") });
  if (photo.state === "deleting") return el("span", { class: "veil", text: t("deleting") });
  return null;
}

function actions(photo) {
  const offer = (what, sign, kind = "") => button(t(what), { icon: sign, kind: `small ${kind}`, name: what, onclick: () => act(photo, what) });
  const quiet = (what, sign) => button(t(what), { icon: sign, kind: "small", quiet: true, name: what, onclick: () => act(photo, what) });
  switch (photo.state) {
    case "new": return el("div", { class: "row" }, offer("download", "download", "primary"), quiet("later", "later"), quiet("dismiss", "close"));
    case "later": return el("div", { class: "row" }, offer("download", "download", "primary"), quiet("dismiss", "close"));
    case "failed": return el("div", { class: "row" }, button(t("retry"), { icon: "retry", kind: "small primary", name: "download", onclick: () => act(photo, "download") }), quiet("dismiss", "close"));
    case "deleting": return el("div", { class: "row" }, offer("undo", "retry"));
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
