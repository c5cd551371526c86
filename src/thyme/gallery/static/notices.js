// Toasts: photos that just arrived with what can be done about them, and short answers to what was done.

import { ask, photoUrl } from "./api.js";
import { button, dialog, el } from "./dom.js";
import { drop, now, on, put, state } from "./state.js";
import { ago, away, reason, t, told } from "./words.js";

const MOST = 3;
const STAY_MS = 9000;
const place = () => document.getElementById("toasts");

export function say(words, { kind = "", action = null, label = "", stay = 5000 } = {}) {
  const toast = el("div", { class: `toast ${kind}` }, el("p", { text: words }), action && button(label, { kind: "text", onclick: () => { toast.remove(); action(); } }));
  lift();
  place().append(toast);
  setTimeout(() => toast.remove(), stay);
  return toast;
}

// Above a dialog that is open, or in the page.
export function lift() {
  const toasts = place();
  if (toasts.matches(":popover-open")) toasts.hidePopover();
  toasts.showPopover();
}

export function complain(error) {
  say(reason(error), { kind: "bad", stay: 8000 });
}

// Before a publication is deleted: say what that does. Other photos are only here, so nothing is asked.
export function sureToDelete(photos) {
  const public_ = photos.filter((photo) => photo.state === "published");
  if (!public_.length) return Promise.resolve(true);
  return new Promise((resolve) => {
    const title = public_.length === 1 ? t("delete_title", { name: public_[0].name }) : t("delete_titles", { n: public_.length });
    const end = (answer) => { resolve(answer); box.close(); };
    const box = dialog(title, el("div", {}, el("p", { text: t("delete_more") }),
      el("div", { class: "row end" }, button(t("cancel"), { name: "keep", onclick: () => end(false) }), button(t("delete_now"), { icon: "trash", kind: "primary", name: "delete-now", onclick: () => end(true) }))), { name: "sure" });
    box.addEventListener("close", () => resolve(false));
    box.querySelector("[data-name=delete-now]").focus();
  });
}

// Do something with a photo; the answer is put in place at once, the event that follows says the same.
export async function act(photo, what) {
  try {
    const path = `/v1/gallery/photos/${photo.id}`;
    if (what === "delete") {
      if (!(await sureToDelete([photo]))) return;
      const left = await ask("DELETE", path);
      if (left) {
        put(left);
        say(t("deleted_soon", { name: photo.name }), { action: () => act(left, "undo"), label: t("undo"), stay: state.limits.undo_s * 1000 });
      } else {
        drop(photo.id);
        say(t("removed"));
      }
      return;
    }
    const answer = await ask("POST", `${path}/${what}`);
    if (what === "dismiss") drop(photo.id);
    else if (answer) put(answer);
  } catch (error) {
    complain(error);
  }
}

function announce(photo) {
  if (document.body.dataset.view === "available" || document.querySelector("dialog[open]")) return;  // its tile appears there, with the same choices
  const cards = place().querySelectorAll(".arrival");
  if (cards.length >= (innerWidth < 760 ? 1 : MOST)) cards[0].remove();
  const done = (what) => () => { card.remove(); act(photo, what); };
  const card = el(
    "div",
    { class: "toast arrival", "data-id": photo.id },
    photo.picture ? el("img", { src: photoUrl(photo, "thumb"), alt: "", width: 84, height: 64 }) : el("div", { class: "blank" }),
    el(
      "div",
      { class: "about" },
      el("strong", { text: photo.name }),
      el("span", { class: "faint", text: [t("by", { who: photo.by || t("somebody") }), ago(photo.at_s, now()), away(photo.distance)].filter(Boolean).join(" · ") }),
      el("span", { class: "faint tags", text: photo.tags.map((tag) => `#${tag}`).join(" ") }),
      el(
        "div",
        { class: "row" },
        button(t("download"), { kind: "small primary", name: "download", onclick: done("download") }),
        button(t("later"), { kind: "small", name: "later", onclick: done("later") }),
      ),
    ),
    button(t("dismiss"), { icon: "close", quiet: true, kind: "small", name: "dismiss", onclick: done("dismiss") }),
  );
  lift();
  place().append(card);
  let timer = setTimeout(() => card.remove(), STAY_MS);
  card.addEventListener("pointerenter", () => clearTimeout(timer));
  card.addEventListener("pointerleave", () => { timer = setTimeout(() => card.remove(), STAY_MS / 2); });
}

// From the node to where the browser keeps files: a guest's download is on the host's device until then.
export function saveFile(photo) {
  el("a", { href: photoUrl(photo, "original"), download: "" }).click();
}

export function watchNotices() {
  on("deleted", ({ photo, by }) => say(t("deleted_by", { who: by || t("somebody"), name: photo.name }), { stay: 6000 }));
  on("photo", ({ photo, before }) => {
    if (photo && !before && photo.state === "new") announce(photo);
    if (photo && photo.state !== "new") place().querySelector(`.arrival[data-id="${CSS.escape(photo.id)}"]`)?.remove();
    if (photo?.state === "failed" && before?.state === "downloading") {
      say(t("download_failed", { name: photo.name, why: told(photo.error) }), { kind: "bad", action: () => act(photo, "download"), label: t("retry"), stay: 10000 });
    }
    if (photo?.state === "downloaded" && before?.state === "downloading") say(t("downloaded", { name: photo.name }), { kind: "good", action: () => saveFile(photo), label: t("save_file"), stay: 9000 });
    if (photo?.state === "published" && before?.state === "deleting" && photo.error) complain(new Error(photo.error));
  });
}
