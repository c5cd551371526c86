// The studio: a form, the progress of the study that it started, and the answer. The server knows the state; this asks it.

const LOOK_MS = 700, CHECK_MS = 500;
const STAGES = { posts: "Posts", traces: "Who does what", runs: "Runs", metrics: "Metrics", report: "Report" };
const $ = (id) => document.getElementById(id);
let fields = [], shownReport = "";

function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter(Boolean));
  return element;
}

async function ask(method, path, body) {
  const response = await fetch(path, { method, credentials: "same-origin", headers: body ? { "Content-Type": "application/json" } : {}, body: body && JSON.stringify(body) });
  const text = await response.text();
  const said = text ? JSON.parse(text) : null;
  if (!response.ok) throw Object.assign(new Error(said?.error?.message || `HTTP ${response.status}`), { status: response.status });
  return said;
}

// A question with its field, and the place beside it where an error is shown.
function field(question) {
  const { key, words, choices, hint } = question;
  const error = el("p", { class: "error", id: `error-${key}`, "data-error": key, role: "alert" });
  const more = hint && el("p", { class: "hint", id: `hint-${key}`, text: hint });
  const described = `error-${key}${hint ? ` hint-${key}` : ""}`;
  if (choices.length) {
    const options = choices.map(({ value, words: said }) => el("label", { class: "option" },
      el("input", { type: "radio", name: key, value, checked: value === question.default }), el("span", { text: said })));
    const set = el("fieldset", { "aria-describedby": described }, el("legend", { text: words }), ...options, more, error);
    return { key, error, root: set, value: () => set.querySelector("input:checked")?.value || "", choose: (value) => { for (const one of set.querySelectorAll("input")) one.checked = one.value === value; }, invalid: () => {} };
  }
  const input = el("input", { type: "text", id: key, name: key, autocomplete: "off", inputmode: key === "people" ? "numeric" : null, "aria-describedby": described });
  input.value = question.default;
  return { key, error, root: el("div", { class: "field" }, el("label", { class: "asked", for: key, text: words }), input, more, error), value: () => input.value, choose: (value) => { input.value = value; }, invalid: (wrong) => input.setAttribute("aria-invalid", wrong) };
}

// Only photos and videos have a size that is asked for.
function answers() {
  const given = Object.fromEntries(fields.map((one) => [one.key, one.value()]));
  fields.find((one) => one.key === "size").root.hidden = given.contents === "messages";
  return given.contents === "messages" ? { ...given, size: "" } : given;
}

function showErrors(errors) {
  for (const one of fields) {
    one.error.textContent = errors[one.key] || "";
    one.invalid(Boolean(errors[one.key]));
  }
  return Object.keys(errors).length === 0;
}

let checking = 0, checks = 0;
function checkSoon() {
  clearTimeout(checking);
  checking = setTimeout(async () => {
    const number = ++checks;
    try {
      const checked = await ask("POST", "/v1/check", { answers: answers() });
      if (number !== checks) return;  // an answer to an older question
      $("told").textContent = showErrors(checked.errors) ? [checked.estimate, checked.expected && `Before the study runs: ${checked.expected[0].toLowerCase()}${checked.expected.slice(1)}`].filter(Boolean).join("\n") : "";
    } catch (error) {
      complain(error);
    }
  }, CHECK_MS);
}

function complain(error) {
  $("watch").hidden = false;
  $("failed").hidden = false;
  $("failed").textContent = error.message;
}

async function start(event) {
  event.preventDefault();
  clearTimeout(checking);
  checks += 1;
  $("start").disabled = true;
  try {
    const { errors } = await ask("POST", "/v1/start", { answers: answers() });
    if (!showErrors(errors)) {
      $("told").textContent = "";
      $("start").disabled = false;
      document.querySelector("[aria-invalid=true]")?.focus();
      return;
    }
    shownReport = "";
    await look();
    $("watch").scrollIntoView({ behavior: "smooth", block: "start" });
  } catch (error) {
    complain(error);
    $("start").disabled = false;
  }
}

const duration = (seconds) => (seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`);

function show(progress) {
  const { state, stages, sweep, answer } = progress;
  const running = state === "running";
  $("watch").hidden = state === "none";
  $("start").disabled = running;
  $("stop").hidden = !running;
  $("watch-title").textContent = { running: "Running", done: "Done", stopped: "Stopped. Run it again to continue.", failed: "The study failed" }[state] || "";
  const known = new Map(stages.map((stage) => [stage.name, stage]));
  $("stages").replaceChildren(...Object.entries(STAGES).map(([name, words]) => {
    const stage = known.get(name);
    return el("li", { class: !stage ? "" : stage.state === "running" ? "running" : "done" }, el("strong", { text: words }), el("span", { class: "faint", text: stage?.detail || "" }));
  }));
  $("bar").value = state === "done" ? 1 : sweep?.share || 0;
  const ended = sweep ? sweep.done + sweep.reused + sweep.failed : 0;
  $("runs").textContent = sweep && running ? `${ended} of ${sweep.total} runs done, ${sweep.running} running${sweep.failed ? `, ${sweep.failed} failed` : ""}${sweep.left_s && ended < sweep.total ? `, about ${duration(sweep.left_s)} left` : ""}` : running ? "Starting…" : "";
  $("failed").hidden = state !== "failed";
  $("failed").textContent = progress.error;
  $("answer").hidden = !(state === "done" && answer);
  $("report").hidden = $("answer").hidden;
  if (state !== "done" || !answer) return;
  $("answer-title").textContent = answer.answer;
  const list = (lines) => lines.map((line) => el("li", { text: line }));
  $("reasons").replaceChildren(...list([...answer.warnings, ...answer.reasons]));
  $("tips").replaceChildren(...list(answer.tips));
  $("tips-title").hidden = answer.tips.length === 0;
  const key = JSON.stringify(progress.answers);
  if (shownReport !== key) {
    shownReport = key;
    $("report").src = "/v1/report";
  }
}

async function look() {
  try {
    const progress = await ask("GET", "/v1/progress");
    show(progress);
    if (progress.state === "running") setTimeout(look, LOOK_MS);
    return progress;
  } catch (error) {
    complain(new Error(error.status ? error.message : "The studio does not answer; start it again with “thyme studio”."));
    return null;
  }
}

async function begin() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", location.pathname);
    await fetch("/v1/session", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  }
  let questions;
  try {
    questions = await ask("GET", "/v1/questions");
  } catch {
    $("locked").hidden = false;
    return;
  }
  fields = questions.map(field);
  $("questions").replaceChildren(...fields.map((one) => one.root));
  $("form").hidden = false;
  $("form").addEventListener("submit", start);
  $("form").addEventListener("input", () => { answers(); checkSoon(); });
  $("stop").addEventListener("click", () => ask("POST", "/v1/stop").then(show).catch(complain));
  const progress = await look();
  for (const one of fields) if (progress?.answers[one.key] !== undefined) one.choose(progress.answers[one.key]);
  checkSoon();
}

begin();
