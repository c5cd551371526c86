// The map: cells, who is in them, and where the copies of a photo are.

import { ask } from "./api.js";
import { el, svg } from "./dom.js";
import { complain } from "./notices.js";
import { isGuest, on, state } from "./state.js";
import { list, number, t } from "./words.js";

const SIDE = 100;
const REFRESH_MS = 2000;
const NAMED = 6;  // people in a cell whose names fit

export function cellsOf(map, { copies = null, small = false, chosen = null } = {}) {
  const cells = [];
  for (let cell = 0; cell < map.columns * map.rows; cell += 1) {
    const [column, row] = [cell % map.columns, Math.floor(cell / map.columns)];
    const here = map.people.filter((person) => person.cell === cell);
    const whole = copies?.cells.includes(cell);
    const single = copies ? copies.node_cells.filter((other) => other === cell).length : 0;
    const names = here.filter((one) => one.name && !one.me).map((one) => one.name);
    const words = [`${t("standing", { n: here.length })}${names.length ? ` (${list(names)})` : ""}`, here.some((one) => one.me) && t("you"), whole && t("whole_cell"), single > 0 && t("one_copy", { n: single })].filter(Boolean).join(", ");
    const label = t("i_am_here", { column: column + 1, row: row + 1, people: words });
    cells.push(
      svg("g", { class: `cell ${whole ? "whole" : single ? "single" : ""}`, transform: `translate(${column * SIDE} ${row * SIDE})`, ...(chosen ? { tabindex: 0, role: "button", "aria-label": label, onclick: () => chosen(column, row), onkeydown: (event) => (event.key === "Enter" || event.key === " ") && chosen(column, row) } : {}) },
        svg("title", {}, label),
        svg("rect", { x: 2, y: 2, width: SIDE - 4, height: SIDE - 4, rx: 10 }),
        here.map((person, i) => dot(person, i, here.length)),
        (whole || single > 0) && svg("path", { class: "copy", d: `M${SIDE - 24} 10h14v11h-14zM${SIDE - 24} 19l5-4 4 3 2-2 3 3` })),
    );
  }
  return svg("svg", { class: `cells ${small ? "small" : ""}`, viewBox: `0 0 ${map.columns * SIDE} ${map.rows * SIDE}`, role: chosen ? "group" : "img", "aria-label": t("map") }, cells);
}

function dot(person, i, n) {
  const around = n > 1 ? 20 + Math.min(12, n) : 0;
  const angle = (i / n) * 2 * Math.PI - Math.PI / 2;
  const [x, y] = [SIDE / 2 + Math.cos(angle) * around, SIDE / 2 + Math.sin(angle) * around];
  return svg("g", {}, svg("circle", { class: `person ${person.me ? "me" : ""} ${person.still ? "" : "walks"}`, cx: x, cy: y, r: person.me ? 9 : 7 }),
    person.name && !person.me && n <= NAMED && svg("text", { class: "named", x, y: y + 17, "text-anchor": "middle" }, person.name.slice(0, 12)));
}

export function mapView() {
  const place = el("div", { class: "mapped" });
  const hint = el("p", { class: "faint" });
  const select = el("select", { id: "copies-of", onchange: () => draw() });
  const legend = el("p", { class: "legend" }, el("span", { class: "key me", text: t("you") }), el("span", { class: "key whole", text: t("whole_cell") }));
  let map = null;

  function options() {
    const before = select.value;
    const photos = [...state.photos.values()].filter((photo) => photo.key).sort((a, b) => b.at_s - a.at_s).slice(0, 200);
    select.replaceChildren(el("option", { value: "", text: t("none") }), ...photos.map((photo) => el("option", { value: photo.id, text: [photo.name, photo.own ? t("you") : photo.by].filter(Boolean).join(" – ") })));
    select.value = photos.some((photo) => photo.id === before) ? before : "";
  }
  async function draw() {
    try {
      map = await ask("GET", "/v1/gallery/map");
      const copies = select.value ? await ask("GET", `/v1/gallery/photos/${select.value}/places`) : null;
      if (place.contains(document.activeElement) && document.activeElement.closest("g")) return;
      if (!map.columns) return place.replaceChildren(el("p", { text: t("map_none") }));
      hint.textContent = t("map_hint", { metres: number(map.cell_m) });
      place.replaceChildren(cellsOf(map, { copies, chosen: isGuest() ? null : move }));
    } catch (error) {
      if (error.kind !== "offline") complain(error);
    }
  }
  async function move(column, row) {
    try {
      await ask("POST", "/v1/gallery/place", { x_m: (column + 0.5) * map.cell_m, y_m: (row + 0.5) * map.cell_m });
      document.activeElement?.blur();
      setTimeout(draw, 700);
    } catch (error) {
      complain(error);
    }
  }
  options();
  draw();
  const timer = setInterval(draw, REFRESH_MS);
  const stop = on("photo", ({ before }) => !before && options());
  return {
    root: el("section", { class: "page" }, el("h1", { text: t("map") }), hint, el("div", { class: "field inline" }, el("label", { for: "copies-of", text: t("show_copies") }), select), place, legend, el("p", { class: "faint", text: t("map_move") })),
    stop: () => { clearInterval(timer); stop(); },
  };
}
