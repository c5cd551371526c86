// One photo on the whole screen: keys, swipes and buttons lead to its neighbours; beside it what is known of it.

import { ask, photoUrl } from "./api.js";
import { button, el, icon } from "./dom.js";
import { act } from "./notices.js";
import { cellsOf } from "./places.js";
import { now, on, shown, state, tell } from "./state.js";
import { ago, away, clock, size, t, told } from "./words.js";

const SWIPE_PX = 50;

export function openViewer(first) {
  let current = first;
  const picture = el("img", { alt: "" });
  const frame = el("div", { class: "frame" }, picture);
  const about = el("aside", { class: "about", "aria-label": t("details") });
  const counter = el("span", { class: "counter" });
  const step = (by) => {
    const photos = shown();
    const next = photos[photos.findIndex((photo) => photo.id === current) + by];
    if (next) show(next.id);
  };
  const box = el(
    "dialog",
    { class: "viewer", "aria-label": t("show", { name: "" }) },
    el("div", { class: "stage" }, frame,
      button(t("previous"), { icon: "left", quiet: true, kind: "round previous", onclick: () => step(-1) }),
      button(t("next"), { icon: "right", quiet: true, kind: "round next", onclick: () => step(1) })),
    about,
    el("div", { class: "top" }, counter, button(t("close"), { icon: "close", quiet: true, kind: "round", onclick: () => box.close() })),
  );

  function show(id) {
    const photo = state.photos.get(id);
    if (!photo) return box.close();
    const changed = id !== current || !picture.getAttribute("src");
    current = id;
    const wanted = photo.picture ? photoUrl(photo, photo.here ? "view" : "thumb") : "";
    if (changed || picture.getAttribute("src") !== wanted) {
      if (wanted) picture.setAttribute("src", wanted);
      else picture.removeAttribute("src");
    }
    picture.alt = photo.name;
    frame.classList.toggle("preview", !photo.here);
    box.setAttribute("aria-label", t("show", { name: photo.name }));
    const photos = shown();
    const place = photos.findIndex((each) => each.id === id);
    counter.textContent = place < 0 ? "" : t("position", { i: place + 1, n: photos.length });
    box.querySelector(".previous").disabled = place <= 0;
    box.querySelector(".next").disabled = place < 0 || place >= photos.length - 1;
    about.replaceChildren(...details(photo, box));
  }

  swipes(frame, step);
  box.addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea")) return;
    if (event.key === "ArrowLeft") step(-1);
    else if (event.key === "ArrowRight") step(1);
    else if (event.key === "d" || event.key === "D") {
      const photo = state.photos.get(current);
      if (["new", "later", "failed"].includes(photo?.state)) act(photo, "download");
    } else return;
    event.preventDefault();
  });
  const stop = on("photo", ({ photo, before }) => {
    if ((photo || before).id !== current) return;
    if (photo && photo.tab) show(current);
    else box.close();
  });
  box.addEventListener("close", () => { stop(); box.remove(); document.querySelector(`[data-id="${CSS.escape(current)}"] .open`)?.focus(); });
  document.body.append(box);
  box.showModal();
  show(first);
}

function details(photo, box) {
  const fact = (name, value) => value && el("div", {}, el("dt", { text: name }), el("dd", { text: value }));
  const places = el("div", { class: "places" });
  if (photo.key) {
    Promise.all([ask("GET", `/v1/gallery/photos/${photo.id}/places`), ask("GET", "/v1/gallery/map")])
      .then(([copies, map]) => map.columns && places.replaceChildren(el("h3", { text: t("copies") }), cellsOf(map, { copies, small: true })))
      .catch(() => {});
  }
  return [
    el("h2", { text: photo.name }),
    photo.tags.length > 0 && el("p", { class: "chips" }, photo.tags.map((tag) => el("span", { class: "chip", text: `#${tag}` }))),
    !photo.here && el("p", { class: "note" }, icon("info"), el("span", { text: t("not_here") })),
    photo.state === "downloading" && el("progress", { max: photo.size_bytes || 1, value: photo.have_bytes, "aria-label": t("downloading") }),
    photo.error && el("p", { class: "error", text: told(photo.error) }),
    el("div", { class: "row" }, choices(photo, box)),
    el("dl", {},
      fact(t("who"), photo.own ? t("you") : photo.by || t("somebody")),
      photo.tab !== "private" && fact(t("when"), `${clock(photo.at_s)} (${ago(photo.at_s, now())})`),
      fact(t("size"), [photo.width ? t("pixels", photo) : "", size(photo.size_bytes)].filter(Boolean).join(", ")),
      !photo.own && fact(t("nearest"), away(photo.distance))),
    places,
  ].filter(Boolean);
}

function choices(photo, box) {
  const offer = (what, sign, kind = "") => button(t(what), { icon: sign, kind, name: what, onclick: () => act(photo, what) });
  const save = () => el("a", { class: "button", href: photoUrl(photo, "original"), download: "" }, icon("download"), el("span", { text: t("save_file") }));
  switch (photo.state) {
    case "new": return [offer("download", "download", "primary"), offer("later", "later"), offer("dismiss", "close")];
    case "later": return [offer("download", "download", "primary"), offer("dismiss", "close")];
    case "failed": return [button(t("retry"), { icon: "retry", kind: "primary", name: "download", onclick: () => act(photo, "download") }), offer("dismiss", "close")];
    case "private": return [button(t("publish"), { icon: "share", kind: "primary", name: "publish", onclick: () => { box.close(); tell("publish", [photo.id]); } }), save(), offer("delete", "trash")];
    case "published": case "downloaded": return [save(), offer("delete", "trash")];
    case "deleting": return [offer("undo", "retry")];
    default: return [];
  }
}

function swipes(frame, step) {
  let from = null;
  frame.addEventListener("touchstart", (event) => { from = event.touches.length === 1 ? event.touches[0] : null; }, { passive: true });
  frame.addEventListener("touchend", (event) => {
    if (!from) return;
    const [dx, dy] = [event.changedTouches[0].clientX - from.clientX, event.changedTouches[0].clientY - from.clientY];
    if (Math.abs(dx) > SWIPE_PX && Math.abs(dx) > 1.5 * Math.abs(dy)) step(dx < 0 ? 1 : -1);
    from = null;
  }, { passive: true });
}
