// What phones see at the address that they scanned if the gallery is served over https: why the browser will warn, and the way
// in. The key of the invitation is in the fragment, which browsers send to nobody.

import { el } from "./dom.js";
import { t } from "./words.js";

const { page } = await (await fetch("/https")).json();
const go = el("a", { class: "button primary", href: page + location.hash, "data-name": "continue" }, el("span", { text: t("https_go") }));
document.getElementById("app").replaceChildren(el("main", {}, el("div", { class: "locked introduction" },
  el("img", { src: "/static/icon.svg", alt: "", width: 64, height: 64 }), el("h1", { text: t("https_title") }),
  el("p", { text: t("https_why") }), el("p", { text: t("https_steps") }), go,
  el("details", {}, el("summary", { text: t("https_install") }), el("p", { text: t("https_install_more") }),
    el("a", { class: "button", href: "/authority", "data-name": "authority" }, el("span", { text: t("https_get") })),
    el("p", { text: t("https_android") }), el("p", { text: t("https_ios") })),
  el("p", { class: "faint", text: t("https_check") }))));
document.title = t("app");
