// Inviting others, choosing a gallery, and saying who one is.

import { ask } from "./api.js";
import { button, dialog, el, icon, svg } from "./dom.js";
import { complain, say } from "./notices.js";
import { isGuest, state, tell } from "./state.js";
import { chooseLanguage, language, reason, size, t } from "./words.js";
import { messages } from "./messages.js";

const LANGUAGES = { en: "English", pt: "Português", es: "Español", fr: "Français" };

export function qrCode(rows, label) {
  const side = rows.length + 8;
  let path = "";
  rows.forEach((row, y) => [...row].forEach((bit, x) => { if (bit === "1") path += `M${x + 4} ${y + 4}h1v1h-1z`; }));
  return svg("svg", { class: "qr", viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": label }, svg("rect", { width: side, height: side, fill: "#fff" }), svg("path", { d: path, fill: "#000" }));
}

export async function inviteDialog() {
  let codes;
  try {
    codes = await ask("GET", "/v1/gallery/invitation");
  } catch (error) {
    return complain(error);
  }
  const copy = (text) => button(t("copy"), { kind: "small", name: "copy", onclick: async () => say(t((await copyText(text)) ? "copied" : "copy_by_hand"), { stay: 6000 }) });
  const part = (title, more, code, fingerprint) => el("section", { class: "code" }, el("h3", { text: title }), code && qrCode(code.rows, title), el("p", { class: "faint", text: more }), fingerprint && el("p", { class: "fingerprint", text: fingerprint }), code && el("div", { class: "row" }, el("code", { text: code.text }), copy(code.text)));
  dialog(t("invite"), el("div", { class: "codes" },
    part(t("invite_page"), t(!codes.page ? "invite_page_off" : codes.fingerprint ? "invite_page_https" : "invite_page_more"), codes.page, codes.page && codes.fingerprint),
    codes.gallery && part(t("invite_gallery"), t("invite_gallery_more"), codes.gallery)), { wide: true, name: "invite" });
}

// Browsers give scripts the clipboard on https and on this machine only; elsewhere a selection is copied.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("textarea", { class: "copying", readonly: true });
    field.value = text;
    (document.querySelector("dialog[open]") || document.body).append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

async function guestsOf() {
  const list = el("div", { class: "subscriptions", "data-name": "guests" });
  const render = async () => {
    const guests = await ask("GET", "/v1/gallery/guests");
    list.replaceChildren(...(guests.length ? guests.map((guest) => el("div", { class: "subscription" }, icon("people"),
      el("div", {}, el("strong", { text: guest.name }), el("span", { class: "faint", text: `${t("guest_published", { n: guest.published })} · ${size(guest.size_bytes)}` })),
      el("span", { class: "spring" }),
      button(t("guest_remove"), { kind: "small", name: "remove-guest", onclick: () => ask("DELETE", `/v1/gallery/guests/${guest.id}`).then(() => { say(t("guest_removed", { name: guest.name })); return render(); }).catch(complain) })))
      : [el("p", { class: "faint", text: t("guests_none") })]));
  };
  await render().catch(complain);
  return el("section", {}, el("h3", { text: t("guests") }), list);
}

export async function galleriesDialog() {
  let galleries;
  try {
    galleries = await ask("GET", "/v1/gallery/galleries");
  } catch (error) {
    return complain(error);
  }
  const go = async (action) => {
    try {
      const gallery = await action();
      box.close();
      if (gallery.name !== state.gallery.name) say(t("switching"));
    } catch (error) {
      wrong.textContent = reason(error);
    }
  };
  const wrong = el("p", { class: "error", role: "alert" });
  const rows = galleries.map((gallery) => el("div", { class: "subscription" }, icon(gallery.closed ? "lock" : "people"),
    el("div", {}, el("strong", { text: gallery.name }), el("span", { class: "faint", text: [t(gallery.closed ? "gallery_is_closed" : "gallery_open"), gallery.nearby && t("gallery_nearby"), gallery.current && t("gallery_here")].filter(Boolean).join(" · ") })),
    el("span", { class: "spring" }),
    !gallery.current && button(t("gallery_switch"), { kind: "small", name: "switch", onclick: () => go(() => (gallery.nearby ? ask("POST", "/v1/gallery/galleries", { name: gallery.name }) : ask("POST", "/v1/gallery/switch", { name: gallery.name }))) })));
  const input = (name, label, more = {}) => el("div", { class: "field" }, el("label", { for: `new-${name}`, text: label }), el("input", { id: `new-${name}`, name, ...more }));
  const form = el("form", {}, el("h3", { text: t("gallery_create") }), input("name", t("gallery_name"), { maxlength: 64, autocomplete: "off" }),
    input("passphrase", t("gallery_closed"), { type: "password", autocomplete: "new-password", minlength: 8 }),
    el("div", { class: "pair" }, input("width_m", `${t("gallery_area")}: ${t("gallery_width")}`, { type: "number", min: 10, max: 4000, value: 120 }), input("height_m", t("gallery_height"), { type: "number", min: 10, max: 4000, value: 80 })),
    input("invitation", t("gallery_or"), { autocomplete: "off", placeholder: "thyme:…" }),
    el("p", { class: "faint", text: t("gallery_hint") }), wrong, el("div", { class: "row end" }, el("button", { class: "button primary", type: "submit", "data-name": "go" }, el("span", { text: t("gallery_go") }))));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(form));
    const body = given.invitation.trim() ? { invitation: given.invitation.trim() } : { name: given.name, passphrase: given.passphrase, width_m: Number(given.width_m) || 0, height_m: Number(given.height_m) || 0 };
    go(() => ask("POST", "/v1/gallery/galleries", body));
  });
  const box = dialog(t("galleries"), el("div", {}, el("div", { class: "subscriptions" }, rows), form), { name: "galleries" });
}

export function profileDialog(title = t("profile")) {
  const name = el("input", { id: "by", maxlength: isGuest() ? 20 : state.limits.by_chars, value: state.me.by, autocomplete: "nickname", "data-name": "by" });
  const tongue = el("select", { id: "language", onchange: () => chooseLanguage(tongue.value) }, Object.keys(messages).map((tag) => el("option", { value: tag, text: LANGUAGES[tag] || tag })));
  tongue.value = language;
  const form = el("form", {}, el("div", { class: "field" }, el("label", { for: "by", text: t("your_name") }), name, el("p", { class: "faint", text: t("your_name_hint") })),
    el("div", { class: "field" }, el("label", { for: "language", text: t("language") }), tongue),
    el("div", { class: "row end" }, el("button", { class: "button primary", type: "submit", "data-name": "save-me" }, el("span", { text: t("save") }))));
  const guests = el("div", {});
  if (!isGuest()) guestsOf().then((section) => guests.append(section));
  const box = dialog(title, el("div", {}, form, guests), { name: "profile" });
  name.focus();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      state.me = await ask("PUT", "/v1/gallery/me", { by: name.value });
      tell("online");
      box.close();
    } catch (error) {
      complain(error);
    }
  });
}
