"use strict";
// The whole picture comes twice a second and is drawn as it is; deeds go back one by one.
const token = new URLSearchParams(location.search).get("token");
const canvas = document.getElementById("map"), pen = canvas.getContext("2d");
const element = (id) => document.getElementById(id);
const hints = {
  "": "Drag a node to move it; click one to choose it.",
  link: "Click the other end of the link to cut, or to mend.",
  cut: "Click where the area falls in two.",
};
let picture = null, chosen = -1, mode = "", dragged = -1, at = null, moved = false;

function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }

function scale() {
  const box = canvas.getBoundingClientRect(), margin = 26;
  const k = Math.min((box.width - 2 * margin) / picture.width, (box.height - 2 * margin) / picture.height);
  return { k, x: (box.width - k * picture.width) / 2, y: (box.height - k * picture.height) / 2, h: picture.height };
}
const onScreen = (s, x, y) => [s.x + s.k * x, s.y + s.k * (s.h - y)];
const inMetres = (s, x, y) => [(x - s.x) / s.k, s.h - (y - s.y) / s.k];
const held = (node) => (node.state ? node.state.held.objects || 0 : 0);

function line(s, a, b, style, width, dash = []) {
  pen.beginPath();
  pen.setLineDash(dash);
  pen.moveTo(...onScreen(s, ...a));
  pen.lineTo(...onScreen(s, ...b));
  pen.strokeStyle = style;
  pen.lineWidth = width;
  pen.stroke();
  pen.setLineDash([]);
}

function draw() {
  if (!picture) return;
  const box = canvas.getBoundingClientRect(), sharp = window.devicePixelRatio || 1;
  canvas.width = box.width * sharp;
  canvas.height = box.height * sharp;
  pen.setTransform(sharp, 0, 0, sharp, 0, 0);
  const s = scale(), place = (n) => [picture.nodes[n].x, picture.nodes[n].y];
  drawCells(s);
  pen.globalAlpha = 0.35;
  for (const [a, b] of picture.links) if (picture.nodes[a].on && picture.nodes[b].on) line(s, place(a), place(b), colour("line"), 1);
  pen.globalAlpha = 1;
  for (const [a, b] of picture.cutLinks) line(s, place(a), place(b), colour("off"), 1.5, [2, 4]);
  for (const [a, b, count] of picture.carried) {
    pen.globalAlpha = Math.min(0.9, 0.15 + count / 40);
    line(s, place(a), place(b), colour("on"), Math.min(5, 0.6 + count / 12));
  }
  pen.globalAlpha = 1;
  if (picture.cut !== null) line(s, [picture.cut, 0], [picture.cut, picture.height], colour("off"), 3, [10, 6]);
  picture.nodes.forEach((node, number) => drawNode(s, node, number));
}

function drawCells(s) {
  const [left, top] = onScreen(s, 0, picture.height);
  pen.strokeStyle = colour("line");
  pen.lineWidth = 1;
  pen.strokeRect(left, top, s.k * picture.width, s.k * picture.height);
  if (!picture.cell) return;
  for (let x = picture.cell; x < picture.width - 1; x += picture.cell) line(s, [x, 0], [x, picture.height], colour("line"), 1);
  for (let y = picture.cell; y < picture.height - 1; y += picture.cell) line(s, [0, y], [picture.width, y], colour("line"), 1);
}

function drawNode(s, node, number) {
  const [x, y] = onScreen(s, node.x, node.y), radius = 9 + Math.min(9, Math.sqrt(held(node)));
  if (number === chosen) {
    pen.beginPath();
    pen.arc(x, y, s.k * picture.range, 0, 7);
    pen.strokeStyle = colour("chosen");
    pen.globalAlpha = 0.5;
    pen.stroke();
    pen.globalAlpha = 1;
  }
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
  pen.fillStyle = !node.on ? colour("ground") : node.state && node.state.joined ? colour("on") : colour("faint");
  pen.fill();
  pen.lineWidth = number === chosen ? 3 : 1.5;
  pen.strokeStyle = number === chosen ? colour("chosen") : node.on ? colour("ground") : colour("off");
  pen.stroke();
  pen.fillStyle = node.on ? colour("ground") : colour("off");
  pen.font = "600 11px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(number, x, y);
  if (held(node)) {
    pen.fillStyle = colour("ink");
    pen.font = "11px system-ui, sans-serif";
    pen.fillText(held(node), x + radius + 8, y - radius);
  }
}

function tell() {
  const on = picture.nodes.filter((node) => node.on).length;
  const told = picture.nodes.reduce((sum, node) => sum + (node.state ? node.state.notified : 0), 0);
  element("summary").textContent =
    `${picture.approach}, ${picture.now.toFixed(0)} s: ${on} of ${picture.nodes.length} run, ${told} notifications, ` +
    `${picture.datagrams.toLocaleString()} datagrams, ${picture.lost.toLocaleString()} lost`;
  const rows = element("nodes");
  while (rows.rows.length < picture.nodes.length) addRow(rows);
  picture.nodes.forEach((node, number) => {
    const state = node.state || { cell: null, neighbours: [], notified: 0 }, row = rows.rows[number];
    row.className = (node.on ? "" : "off ") + (number === chosen ? "chosen" : "");
    const cells = [number, state.cell ?? "", node.on ? state.neighbours.length : "off", held(node), state.notified];
    cells.forEach((text, i) => (row.cells[i].textContent = text));
  });
  element("lines").replaceChildren(...picture.lines.slice().reverse().map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
  const node = picture.nodes[chosen];
  element("kill").disabled = !node || !node.on;
  element("start").disabled = !node || node.on;
  element("link").disabled = !node;
}

function addRow(rows) {
  const number = rows.rows.length, row = rows.insertRow();
  for (let i = 0; i < 5; i++) row.insertCell();
  row.tabIndex = 0;
  row.addEventListener("click", () => pick(number));
  row.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(number); });
}

function choose(how) {
  mode = how;
  element("hint").textContent = hints[mode];
  element("link").setAttribute("aria-pressed", mode === "link");
  element("cut").setAttribute("aria-pressed", mode === "cut");
}

function pick(number) {
  if (mode === "link" && chosen >= 0 && number !== chosen) {
    act({ do: "link", node: chosen, other: number });
    choose("");
  } else chosen = number === chosen ? -1 : number;
  show();
}

function act(deed) {
  return fetch("deeds?token=" + encodeURIComponent(token), { method: "POST", body: JSON.stringify(deed) }).then(async (answer) => {
    if (!answer.ok) element("hint").textContent = await answer.text();
  });
}

function show() { tell(); draw(); }

function nodeAt(event) {
  const box = canvas.getBoundingClientRect(), s = scale();
  const near = picture.nodes.map((node, number) => {
    const [x, y] = onScreen(s, node.x, node.y);
    return [Math.hypot(x - event.clientX + box.left, y - event.clientY + box.top), number];
  }).sort((a, b) => a[0] - b[0])[0];
  return near && near[0] < 22 ? near[1] : -1;
}

canvas.addEventListener("pointerdown", (event) => {
  if (!picture) return;
  const box = canvas.getBoundingClientRect();
  at = inMetres(scale(), event.clientX - box.left, event.clientY - box.top);
  if (mode === "cut") { act({ do: "cut", x_m: at[0] }); choose(""); return; }
  dragged = nodeAt(event);
  moved = false;
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (dragged < 0) return;
  const box = canvas.getBoundingClientRect(), to = inMetres(scale(), event.clientX - box.left, event.clientY - box.top);
  if (Math.hypot(to[0] - at[0], to[1] - at[1]) * scale().k > 4) moved = true;
  if (moved) { [picture.nodes[dragged].x, picture.nodes[dragged].y] = at = to; draw(); }
});
canvas.addEventListener("pointerup", () => {
  if (dragged >= 0 && moved) act({ do: "move", node: dragged, x_m: at[0], y_m: at[1] });
  else if (dragged >= 0) pick(dragged);
  dragged = -1;
});
element("kill").addEventListener("click", () => act({ do: "kill", node: chosen }));
element("start").addEventListener("click", () => act({ do: "start", node: chosen }));
element("link").addEventListener("click", () => choose(mode === "link" ? "" : "link"));
element("cut").addEventListener("click", () => choose(mode === "cut" ? "" : "cut"));
element("mend").addEventListener("click", () => act({ do: "mend" }));
window.addEventListener("resize", draw);

const stream = new EventSource("events?token=" + encodeURIComponent(token));
stream.onmessage = (event) => {
  const news = JSON.parse(event.data);
  if (dragged >= 0 && moved) Object.assign(news.nodes[dragged], { x: at[0], y: at[1] });
  picture = news;
  show();
};
stream.onerror = () => (element("summary").textContent = "The crowd has ended.");
