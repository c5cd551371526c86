// Which language, and how sizes, times and counts are written in it.

import { messages } from "./messages.js";
import { said } from "./said.js";

const wanted = [...new URLSearchParams(location.search).getAll("lang"), localStorage.getItem("lang"), ...navigator.languages];
export const language = wanted.map((tag) => (tag || "").slice(0, 2).toLowerCase()).find((tag) => tag in messages) || "en";
document.documentElement.lang = language;
const locale = navigator.languages.find((tag) => tag.toLowerCase().startsWith(language)) || language;

export function t(key, values = {}) {
  const counted = values.n === 1 && `${key}_one` in messages[language] ? `${key}_one` : key;
  const text = messages[language][counted] ?? messages.en[counted] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

// What the node said of an error, in the reader's language as far as there are words for it.
export function told(message) {
  if (language === "en" || !message) return message;
  const [pattern, words] = said.find(([each]) => each.test(message)) || [];
  return pattern ? message.replace(pattern, words[language]) : t("node_said", { text: message });
}

export function reason(error) {
  return error.kind === "offline" ? t("error_offline") : told(error.message);
}

export function chooseLanguage(tag) {
  localStorage.setItem("lang", tag);
  location.reload();
}

// Made once: a page of tiles asks for the same few hundreds of times.
const made = new Map();

function formatter(Kind, options) {
  const key = Kind.name + JSON.stringify(options);
  if (!made.has(key)) made.set(key, new Kind(locale, options));
  return made.get(key);
}

const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];

export function size(bytes) {
  if (bytes < 1000) return `${number(bytes)}\u00a0B`;
  let step = 0;
  while (bytes >= 1000 && step < units.length - 1) {
    bytes /= 1000;
    step += 1;
  }
  const digits = step && bytes < 10 ? 1 : 0;
  return formatter(Intl.NumberFormat, { style: "unit", unit: units[step], unitDisplay: step ? "short" : "narrow", maximumFractionDigits: digits }).format(bytes);
}

export function number(value, digits = 0) {
  return formatter(Intl.NumberFormat, { maximumFractionDigits: digits }).format(value);
}

export function ago(at, now) {
  const passed = Math.max(0, now - at);
  const relative = formatter(Intl.RelativeTimeFormat, { numeric: "auto", style: "short" });
  if (passed < 45) return t("just_now");
  if (passed < 3600) return relative.format(-Math.max(1, Math.round(passed / 60)), "minute");
  if (passed < 86400) return relative.format(-Math.round(passed / 3600), "hour");
  return formatter(Intl.DateTimeFormat, { dateStyle: "medium" }).format(at * 1000);
}

export function clock(at) {
  const long = Date.now() / 1000 - at > 80000;
  return formatter(Intl.DateTimeFormat, long ? { dateStyle: "short", timeStyle: "short" } : { timeStyle: "short" }).format(at * 1000);
}

export function list(words, kind = "conjunction") {
  return formatter(Intl.ListFormat, { type: kind }).format(words);
}

export function away(distance) {
  if (!distance) return "";
  return distance.cells === 0 ? t("near") : t("cells_away", { n: distance.cells, metres: number(distance.metres) });
}
