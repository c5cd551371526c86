// The page: a bar above, four tabs, and what is behind them.

import { ask, enter, enterWith } from "./api.js";
import { bellDialog } from "./bell.js";
import { galleriesDialog, inviteDialog, profileDialog } from "./dialogs.js";
import { button, el, icon, setCloseWord } from "./dom.js";
import { gridView } from "./grid.js";
import { watchNotices } from "./notices.js";
import { mapView } from "./places.js";
import { addFiles, filePicker, publishDialog, selectionBar } from "./publish.js";
import { follow, fresh, isGuest, load, on, shown, state, tell } from "./state.js";
import { statusView } from "./status.js";
import { reason, t } from "./words.js";

const TABS = { private: "lock", publications: "up", downloads: "download", available: "inbox" };
const root = document.getElementById("app");
let current = null;

function frame() {
  const [files, camera] = [filePicker(false), filePicker(true)];
  const search = el("input", { type: "search", placeholder: t("search"), "aria-label": t("search"), "data-name": "search", oninput: (event) => { state.search = event.target.value; tell("filter"); } });
  const bell = el("button", { type: "button", class: "button only-icon bell", "data-name": "bell", onclick: bellDialog }, icon("bell"), el("span", { class: "count", "aria-hidden": "true" }));
  const name = el("button", { type: "button", class: "gallery-name", "data-name": "galleries", disabled: isGuest(), onclick: galleriesDialog }, el("img", { src: "/static/icon.svg", alt: "", width: 30, height: 30 }), el("span", {}), !isGuest() && icon("swap"));
  const where = el("span", { class: "where", "data-name": "people" });
  const menu = (key, sign, action) => button(t(key), { icon: sign, quiet: true, name: key, onclick: action });
  const header = el("header", { class: "bar" }, name, where, el("label", { class: "search" }, icon("search"), search), bell,
    menu("map", "map", () => { location.hash = "map"; }), !isGuest() && menu("status", "pulse", () => { location.hash = "status"; }), menu("invite", "qr", inviteDialog), menu("profile", "people", () => profileDialog()));
  const tabs = el("nav", { class: "tabs", "aria-label": t("app") }, Object.entries(TABS).map(([tab, sign]) => el("a", { href: `#${tab}`, "data-tab": tab }, icon(sign), el("span", { class: "word", text: t(tab) }), el("span", { class: "count" }))));
  const add = el("div", { class: "adding" }, files, camera,
    button(t("take_photo"), { icon: "camera", quiet: true, kind: "round", name: "take", onclick: () => camera.click() }),
    button(t("share_photos"), { icon: "share", kind: "primary sharing", name: "share", onclick: () => files.click() }),
    button(t("add_photos"), { icon: "plus", kind: "primary keeping", name: "add", onclick: () => files.click() }));
  const banner = el("p", { class: "banner", role: "status" });
  const main = el("main", { id: "main", tabindex: "-1" });
  const selection = el("div", { class: "selecting" });
  root.replaceChildren(header, tabs, banner, main, add, selection);

  const count = () => {
    const tally = {};
    for (const photo of state.photos.values()) tally[photo.tab] = (tally[photo.tab] || 0) + 1;
    tabs.querySelectorAll("a").forEach((link) => { link.querySelector(".count").textContent = tally[link.dataset.tab] || ""; });
    const news = fresh().length;
    bell.querySelector(".count").textContent = news || "";
    bell.setAttribute("aria-label", news ? t("bell_new", { n: news }) : t("bell"));
    bell.title = bell.getAttribute("aria-label");
    document.title = `${news ? `(${news}) ` : ""}${state.gallery.name} – ${t("app")}`;
  };
  const online = () => {
    name.querySelector("span").textContent = state.gallery.name;
    name.setAttribute("aria-label", `${state.gallery.name}: ${t("galleries")}`);
    where.textContent = state.people ? t("people", { n: state.people }) : t("alone");
    where.classList.toggle("some", state.people > 0);
    banner.textContent = !state.online ? t("offline") : state.otherPassphrase && !isGuest() ? t("other_passphrase") : isGuest() ? t("guest_of", { who: state.me.guest_of || t("somebody") }) : state.demo ? t("demo") : "";
    banner.hidden = !banner.textContent;
    banner.classList.toggle("bad", !state.online || (state.otherPassphrase && !isGuest()));
  };
  let counting = 0;
  const countSoon = () => { cancelAnimationFrame(counting); counting = requestAnimationFrame(count); };
  on("photo", countSoon);
  on("all", () => { count(); online(); });
  on("online", online);
  on("chosen", () => { selection.replaceChildren(...(state.chosen.size ? [selectionBar()] : [])); document.body.classList.toggle("choosing", state.chosen.size > 0); });
  on("photo", () => state.chosen.size && tell("chosen"));
  on("publish", publishDialog);
  dropping(main);
  count();
  online();
  return { main, tabs };
}

function route({ main, tabs }) {
  const asked = location.hash.slice(1);
  const view = asked in TABS || asked === "map" || asked === "status" ? asked : state.view in TABS ? state.view : "available";
  current?.stop();
  state.chosen.clear();
  if (view in TABS) state.view = view;
  tabs.querySelectorAll("a").forEach((link) => (link.dataset.tab === view ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current")));
  document.body.dataset.view = view;
  current = view === "map" ? mapView() : view === "status" ? statusView() : gridView(emptyActions);
  main.replaceChildren(current.root);
  tell("chosen");
  scrollTo(0, 0);
}

function emptyActions(view) {
  const everything = state.subscriptions.some(({ query }) => query === state.every);
  if ((view === "available" || view === "downloads") && !everything) return button(t("subscribe"), { icon: "bell", kind: "primary", onclick: bellDialog });
  const words = view === "private" ? "add_photos" : "share_photos";
  return button(t(words), { icon: view === "private" ? "plus" : "share", kind: "primary", onclick: () => root.querySelector("input[data-name=files]").click() });
}

function dropping() {
  const stop = (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault();
  addEventListener("dragover", (event) => { if (stop(event) !== false) document.body.classList.add("dropping"); });
  addEventListener("dragleave", (event) => !event.relatedTarget && document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    stop(event);
    document.body.classList.remove("dropping");
    addFiles([...(event.dataTransfer?.files || [])].filter((file) => file.type.startsWith("image/")));
  });
}

function locked() {
  const token = el("input", { id: "token", autocomplete: "off", "data-name": "token" });
  const wrong = el("p", { class: "error", role: "alert" });
  const form = el("form", { class: "locked" }, el("img", { src: "/static/icon.svg", alt: "", width: 64, height: 64 }), el("h1", { text: t("locked") }), el("p", { text: t("locked_more") }),
    el("div", { class: "field" }, el("label", { for: "token", text: t("token") }), token), wrong, el("button", { class: "button primary", type: "submit" }, el("span", { text: t("open") })));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await enterWith(token.value)) location.reload();
    else wrong.textContent = t("wrong_token");
  });
  root.replaceChildren(el("main", {}, form));
}

// Who scanned an invitation chooses a name, and has a session of their own from then on.
function entrance(key) {
  const name = el("input", { id: "guest", maxlength: 20, autocomplete: "nickname", required: true, "data-name": "guest" });
  const wrong = el("p", { class: "error", role: "alert" });
  const form = el("form", { class: "locked" }, el("img", { src: "/static/icon.svg", alt: "", width: 64, height: 64 }), el("h1", { text: t("welcome") }), el("p", { text: t("guest_welcome") }),
    el("div", { class: "field" }, el("label", { for: "guest", text: t("your_name") }), name), wrong, el("button", { class: "button primary", type: "submit", "data-name": "enter" }, el("span", { text: t("guest_enter") })));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await ask("POST", "/v1/gallery/enter", { key, name: name.value });
      location.reload();
    } catch (error) {
      wrong.textContent = reason(error);
    }
  });
  root.replaceChildren(el("main", {}, form));
  name.focus();
}

function keys(event) {
  if (event.target.closest("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") root.querySelector("input[type=search]")?.focus();
  else if (event.key === "Escape" && state.chosen.size) { state.chosen.clear(); tell("chosen"); }
  else if (event.key === "a" && state.view in TABS && state.chosen.size) { shown().forEach((photo) => state.chosen.add(photo.id)); tell("chosen"); }
  else return;
  event.preventDefault();
}

async function begin() {
  setCloseWord(t("close"));
  const key = await enter();
  let after;
  for (;;) {
    try {
      after = await load();
      break;
    } catch (error) {
      if (error.status === 401) return key ? entrance(key) : locked();
      root.replaceChildren(el("main", {}, el("p", { class: "empty", text: t("offline") })));
      await new Promise((resolve) => setTimeout(resolve, 1500));
    }
  }
  const parts = frame();
  route(parts);
  addEventListener("hashchange", () => route(parts));
  addEventListener("keydown", keys);
  watchNotices();
  follow(after);
  if (!state.me.by && !isGuest()) profileDialog(t("welcome"));
  register();
}

function register() {
  if (!("serviceWorker" in navigator)) return;
  const policy = window.trustedTypes?.createPolicy("thyme", { createScriptURL: () => "/sw.js" });
  navigator.serviceWorker.register(policy ? policy.createScriptURL("/sw.js") : "/sw.js").catch(() => {});
}

begin();
