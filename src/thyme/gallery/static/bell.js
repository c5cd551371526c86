// The bell: subscriptions, and a new one with a query that is explained as it is typed, and a part of time.

import { ask } from "./api.js";
import { button, dialog, el, icon, svg } from "./dom.js";
import { complain, say } from "./notices.js";
import { now, on, refreshSubscriptions, state } from "./state.js";
import { clock, list, number, reason, t } from "./words.js";

const FRAMES = ["always", "past", "future", "interval"];
const CHECK_MS = 150;
const BARS = 48;

export function bellDialog() {
  const subscribed = el("div", { class: "subscriptions" });
  const box = dialog(t("bell"), el("div", {}, form(), el("h3", { text: t("subscriptions") }), subscribed), { name: "bell", wide: true });
  const render = () => {
    const rows = state.subscriptions.map(row);
    subscribed.replaceChildren(...(rows.length ? rows : [el("p", { class: "faint", text: t("subscriptions_none") })]));
  };
  const stops = [on("subscriptions", render), on("all", render)];
  box.addEventListener("close", () => stops.forEach((stop) => stop()));
  render();
  refreshSubscriptions().catch(() => {});
}

function row(subscription) {
  const { sid, query, told, remaining, start_s: start, end_s: end } = subscription;
  const when = [start !== null && t("since", { start: clock(start) }), end !== null && t("until", { end: clock(end) })].filter(Boolean).join(" ");
  const count = remaining ? t("n_of_x", { n: number(told), x: number(told + remaining) }) : t("n_shown", { n: number(told) });
  const again = async (action, words) => {
    try {
      await action();
      await refreshSubscriptions();
      if (words) say(words);
    } catch (error) {
      complain(error);
    }
  };
  return el("div", { class: "subscription", "data-sid": sid },
    icon("bell"),
    el("div", {}, el("strong", { text: query === state.every ? t("everything") : query }), el("span", { class: "faint", text: [when || t("frame_always"), count].join(" · ") })),
    el("span", { class: "spring" }),
    remaining > 0 && button(t("more"), { kind: "small", name: "more", onclick: () => again(() => ask("POST", `/v1/gallery/subscriptions/${sid}/more`)) }),
    button(t("unsubscribe"), { kind: "small", name: "unsubscribe", onclick: () => again(() => ask("DELETE", `/v1/gallery/subscriptions/${sid}`), t("unsubscribed")) }));
}

function form() {
  const input = el("input", { type: "text", id: "query", autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: 1000, placeholder: t("query_hint"), "aria-describedby": "explained", "data-name": "query" });
  const explained = el("p", { class: "explained", id: "explained", "aria-live": "polite" });
  const go = el("button", { class: "button primary", type: "submit", disabled: true, "data-name": "subscribe" }, icon("bell"), el("span", { text: t("subscribe") }));
  const line = timeline(() => explain());
  let frame = "always";
  let words = null;

  const frames = el("fieldset", { class: "frames" }, el("legend", { text: t("frame") }),
    FRAMES.map((name) => el("label", {}, el("input", { type: "radio", name: "frame", value: name, checked: name === frame, onchange: () => { frame = name; line.root.hidden = name !== "interval"; explain(); } }), el("span", { text: t(`frame_${name}`) }))));
  line.root.hidden = true;

  function explain() {
    go.disabled = words === null;
    if (words === null) return;
    const time = frame === "interval" ? t("frame_words_interval", { start: clock(line.start()), end: clock(line.end()) }) : t(`frame_words_${frame}`);
    explained.className = "explained";
    explained.textContent = input.value.trim() === state.every ? t("query_all", { time }) : t("query_either", { ways: `${words}, ${time}` });
  }
  let timer = 0;
  let asked = 0;
  function check() {
    clearTimeout(timer);
    const text = input.value.trim();
    if (!text) {
      words = null;
      explained.textContent = "";
      return explain();
    }
    const turn = ++asked;
    timer = setTimeout(async () => {
      try {
        const read = await ask("GET", `/v1/gallery/query?text=${encodeURIComponent(text)}`);
        if (turn !== asked) return;
        words = inWords(read);
        explain();
      } catch (error) {
        if (turn !== asked) return;
        words = null;
        go.disabled = true;
        explained.className = "explained error";
        explained.textContent = error.kind === "offline" ? t("error_offline") : pointed(error, text);
      }
    }, CHECK_MS);
  }
  input.addEventListener("input", check);

  const add = (tag) => {
    const quoted = /^[\p{L}\p{N}_]+$/u.test(tag) && !/^(and|or|not)$/i.test(tag) ? tag : `"${tag.replace(/["\\]/g, "\\$&")}"`;
    input.value = input.value.trim() ? `${input.value.trim()} | ${quoted}` : quoted;
    check();
    input.focus();
  };
  const chips = el("div", { class: "chips", role: "group", "aria-label": t("suggestions") },
    el("button", { type: "button", class: "chip", "data-name": "everything", onclick: () => { input.value = state.every; check(); } }, t("everything")),
    state.tags.slice(0, 14).map((tag) => el("button", { type: "button", class: "chip", onclick: () => add(tag) }, `#${tag}`)));

  const root = el("form", { class: "subscribe" }, el("div", { class: "field" }, el("label", { for: "query", text: t("subscribe_to") }), input, explained, chips), frames, line.root, el("div", { class: "row end" }, go));
  root.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = { query: input.value };
    if (frame === "interval") Object.assign(body, { start_s: line.start(), end_s: line.end() });
    else body.frame = frame;
    go.disabled = true;
    try {
      await ask("POST", "/v1/gallery/subscriptions", body);
      input.value = "";
      check();
      say(t("subscribed"), { kind: "good" });
      await refreshSubscriptions();
    } catch (error) {
      complain(error);
      go.disabled = false;
    }
  });
  return root;
}

// Where reading stopped, in the reader's language; what else can be wrong, the node has said.
function pointed(error, text) {
  if (error.kind !== "query" || error.position === null || error.position === undefined) return reason(error);
  return t("query_wrong", { n: error.position + 1, text: `${text.slice(0, error.position)}▶${text.slice(error.position)}` });
}

function inWords(read) {
  const named = (tags) => list(tags.map((tag) => `“${tag}”`));
  return read.conjunctions
    .map(({ with_tags: wanted, without_tags: unwanted }) => [wanted.length && t("query_with", { tags: named(wanted) }), unwanted.length && t("query_without", { tags: named(unwanted) })].filter(Boolean).join(", "))
    .join(t("or"));
}

// A time line of the event: how many photos were published when, and two handles on it.
function timeline(changed) {
  const times = [...state.photos.values()].filter((photo) => photo.key).map((photo) => photo.at_s);
  const last = now();
  const first = Math.min(last - 120, ...times) - 10;
  const span = last - first;
  const bars = Array(BARS).fill(0);
  for (const at of times) bars[Math.min(BARS - 1, Math.max(0, Math.floor(((at - first) / span) * BARS)))] += 1;
  const most = Math.max(1, ...bars);
  const picture = svg("svg", { viewBox: `0 0 ${BARS} 20`, preserveAspectRatio: "none", role: "img", "aria-label": t("timeline") },
    bars.map((count, i) => svg("rect", { x: i + 0.1, width: 0.8, y: 20 - (count / most) * 19, height: Math.max(0.6, (count / most) * 19), "data-i": i })));
  const handle = (label, value) => el("input", { type: "range", min: 0, max: 1000, value, "aria-label": label });
  const [low, high] = [handle(t("from"), 0), handle(t("to"), 1000)];
  const [from, to] = [el("span", {}), el("span", {})];
  const at = (input) => first + (Number(input.value) / 1000) * span;
  function move(event) {
    if (Number(low.value) > Number(high.value)) (event?.target === low ? high : low).value = event.target.value;
    from.textContent = clock(at(low));
    to.textContent = clock(at(high));
    low.setAttribute("aria-valuetext", from.textContent);
    high.setAttribute("aria-valuetext", to.textContent);
    picture.querySelectorAll("rect").forEach((bar, i) => bar.classList.toggle("in", ((i + 1) / BARS) * 1000 > Number(low.value) && (i / BARS) * 1000 < Number(high.value)));
    if (event) changed();
  }
  low.addEventListener("input", move);
  high.addEventListener("input", move);
  move();
  return { root: el("div", { class: "timeline" }, picture, el("div", { class: "handles" }, low, high), el("div", { class: "ends" }, from, to)), start: () => at(low), end: () => at(high) };
}
