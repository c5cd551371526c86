// Elements without markup: whatever others wrote goes through textContent, never through a parser.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  return fill(element, attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (name === "value") element.value = value;
    else if (name === "checked") element.checked = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

const PATHS = {
  bell: "M6 9a6 6 0 0 1 12 0c0 6 2.5 7 2.5 8h-17C3.500 16 6 15 6 9M10 20a2.200 2.200 0 0 0 4 0",
  plus: "M12 5v14M5 12h14",
  camera: "M4 8h3l2-3h6l2 3h3v11H4zM12 10a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l5 5",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  later: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M12 8v4.500l3 2",
  close: "M6 6l12 12M18 6L6 18",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  share: "M12 15V4M8 7.500L12 3.500l4 4M5 12v8h14v-8",
  tag: "M4 4h8l8 8-8 8-8-8zM8.500 8.500h.01",
  check: "M5 12.500l4.500 4.500L19 7",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  map: "M4 6l5-2 6 2 5-2v14l-5 2-6-2-5 2zM9 4v14M15 6v14",
  pulse: "M3 12h4l3-7 4 14 3-7h4",
  people: "M9 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M3 19c0-3.500 2.700-5.500 6-5.500s6 2 6 5.500M16 5.500a3 3 0 0 1 0 5.500M17 13.800c2.400.6 4 2.400 4 5.200",
  qr: "M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM18 18h2v2h-2zM18 14h2M14 18h2v2",
  swap: "M4 8h14l-4-4M20 16H6l4 4",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  retry: "M20 12a8 8 0 1 1-2.500-5.800M20 4v4.500h-4.500",
  photo: "M4 5h16v14H4zM4 16l5-5 4 4 2.500-2.500L20 17M15.500 9h.01",
  inbox: "M4 13l3-8h10l3 8v6H4zM4 13h5l1.500 2.500h3L15 13h5",
  up: "M12 19V6M6 11l6-6 6 6",
  info: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M12 11v5M12 8h.01",
  lock: "M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3",
  pin: "M12 21c-4-5-6.500-8-6.500-11a6.500 6.500 0 0 1 13 0c0 3-2.500 6-6.500 11M12 8a2 2 0 1 0 0 4 2 2 0 0 0 0-4",
};

export function icon(name) {
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, svg("path", { d: PATHS[name] }));
}

export function button(label, { name = "", icon: sign = "", quiet = false, onclick, kind = "", ...rest } = {}) {
  return el(
    "button",
    { type: "button", class: `button ${kind} ${quiet ? "only-icon" : ""}`, "aria-label": quiet ? label : null, title: quiet ? label : null, "data-name": name || null, onclick, ...rest },
    sign && icon(sign),
    !quiet && el("span", { text: label }),
  );
}

// A dialog that is gone when it is closed, by its button, Escape or a click beside it.
export function dialog(title, content, { wide = false, name = "" } = {}) {
  const heading = el("h2", { text: title, id: `title-${name}` });
  const box = el(
    "dialog",
    { class: `sheet ${wide ? "wide" : ""}`, "aria-labelledby": heading.id, "data-name": name },
    el("header", {}, heading, button(closeWord, { icon: "close", quiet: true, onclick: () => box.close() })),
    el("div", { class: "body" }, content),
  );
  box.addEventListener("click", (event) => event.target === box && box.close());
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}

let closeWord = "Close";
export function setCloseWord(word) {
  closeWord = word;
}
