// What this node does, for itself and for others.

import { ask } from "./api.js";
import { el } from "./dom.js";
import { state } from "./state.js";
import { list, number, size, t } from "./words.js";

const REFRESH_MS = 2000;
const NAMED = 20;  // devices in range that are named

export function statusView() {
  const cards = el("div", { class: "cards" });
  const card = (title, rows) => el("section", { class: "card" }, el("h2", { text: title }), el("dl", {}, rows.map(([name, value]) => el("div", {}, el("dt", { text: name }), el("dd", { text: value })))));
  const flow = ({ messages, size_bytes: bytes }) => `${size(bytes)} · ${t("messages", { n: number(messages) })}`;

  async function draw() {
    let now;
    try {
      now = await ask("GET", "/v1/gallery/status");
    } catch {
      return;
    }
    cards.replaceChildren(
      card(t("status_held"), now.held.map((held) => [t(`held_${held.name}`), `${number(held.count)} · ${size(held.size_bytes)}`])),
      card(t("status_traffic"), [[t("sent"), flow(now.sent)], [t("received"), flow(now.received)], [t("forwarded"), flow(now.forwarded)], [t("dropped"), flow(now.dropped)], [t("energy"), t("joules", { n: number(now.radio_joules, 2) })]]),
      card(t("status_storage"), [[t("library"), size(now.library_bytes)], [t("free"), size(now.free_bytes)], [t("memory"), size(now.memory_bytes)]]),
      card(t("status_node"), [now.name && [t("device"), now.name], [t("in_range"), now.in_range.length ? `${number(now.peers)} (${list(now.in_range.slice(0, NAMED))}${now.in_range.length > NAMED ? " …" : ""})` : number(now.peers)], [t("uptime"), t("minutes", { n: number((now.now_s - now.started_s) / 60) })], [t("address"), now.address], [t("approach"), now.approach], [t("id"), state.me.node]].filter(Boolean)),
    );
  }
  draw();
  const timer = setInterval(draw, REFRESH_MS);
  return { root: el("section", { class: "page" }, el("h1", { text: t("status") }), cards), stop: () => clearInterval(timer) };
}
