// The annotators' desk: keys, marking steps, and drafts that are never lost. The form works without it.

import { timeElement } from "./clock.js";
import { copySource } from "./copytex.js";
import { openFind } from "./find.js";
import "./symbols.js";
import { after, remember, started, watch, writer } from "./tabs.js";

const form = document.querySelector("[data-label]");
const scroller = document.querySelector("[data-scroll]");
const steps = [...document.querySelectorAll("[data-step]")];
const banner = document.querySelector("[data-banner]");
const saved = document.querySelector("[data-saved]");
const sheet = document.querySelector("[data-sheet]");
const SAVE_AFTER = 800;
const IDLE_AFTER = 60_000;

/* ---- the form's state ---------------------------------------------------------------------------- */

const control = (name) => form.elements[name];
// The further fields of a pilot study, where there are any.
const further = [...form.querySelectorAll("[data-further]")];

function read() {
  return {
    final: control("final").value,
    first_error: control("first_error").value,
    step: control("step").value,
    comment: control("comment").value,
    ...Object.fromEntries(further.map((field) => [field.name, field.value])),
  };
}

function write(state) {
  for (const name of ["final", "first_error"]) {
    for (const radio of control(name)) radio.checked = radio.value === state[name];
  }
  control("step").value = state.step ?? "";
  control("comment").value = state.comment ?? "";
  for (const field of further) field.value = state[field.name] ?? "";
  show();
}

function show() {
  const { first_error: kind, step } = read();
  const marked = kind === "step" ? Number(step) : 0;
  for (const item of steps) {
    item.classList.toggle("is-first-false", Number(item.dataset.step) === marked);
  }
}

/* ---- changing it, with undo ---------------------------------------------------------------------- */

const past = [];
let before = read();

function changed() {
  const now = read();
  if (JSON.stringify(now) === JSON.stringify(before)) return;
  past.push(before);
  if (past.length > 200) past.shift();
  before = now;
  show();
  keepLocally();
  saveSoon();
}

function set(changes) {
  write({ ...read(), ...changes });
  changed();
}

function mark(number) {
  const { first_error: kind, step } = read();
  const again = kind === "step" && Number(step) === number;
  set(again ? { first_error: "", step: "" } : { first_error: "step", step: String(number) });
}

function undo() {
  const last = past.pop();
  if (!last) return;
  write(last);
  before = last;
  keepLocally();
  saveSoon();
}

control("step").addEventListener("change", () => {
  set({ first_error: control("step").value ? "step" : "", step: control("step").value });
});
form.addEventListener("change", (event) => {
  if (event.target.name === "first_error" && event.target.value === "none") control("step").value = "";
  changed();
});
control("comment").addEventListener("input", changed);

/* ---- drafts: on the server, and in this browser while the server cannot be reached ------------------ */

const localKey = form.dataset.local;
let timer = 0;
let saving = false;
let again = false;
let submitting = false;
let stopped = false;

function keepLocally() {
  try {
    const content = { state: read(), revision: control("revision").value, at: new Date().toISOString() };
    localStorage.setItem(localKey, JSON.stringify(content));
  } catch {
    // A browser without storage still has the server's draft.
  }
}

function forgetLocally() {
  try {
    localStorage.removeItem(localKey);
  } catch {
    // Nothing was kept.
  }
}

// The copy goes once another trace is on the desk: the submission it was kept for has arrived.
function forgetAfterSubmission() {
  try {
    sessionStorage.setItem("falsestep:submitted", localKey);
  } catch {
    // The copy stays until the trace is opened again.
  }
}

function forgetSubmitted() {
  try {
    const key = sessionStorage.getItem("falsestep:submitted");
    if (key && key !== localKey) localStorage.removeItem(key);
    sessionStorage.removeItem("falsestep:submitted");
  } catch {
    // Nothing was kept.
  }
}

function localCopy() {
  try {
    const content = JSON.parse(localStorage.getItem(localKey));
    return content?.revision === control("revision").value ? content : null;
  } catch {
    return null;
  }
}

let sequence = started;

function draftData() {
  sequence = Math.max(sequence + 1, Date.now());
  const data = new FormData(form);
  data.set("writer", writer);
  data.set("sequence", String(sequence));
  data.set("after", after);
  data.set("started", String(started));
  remember();
  return data;
}

function saveSoon() {
  clearTimeout(timer);
  timer = setTimeout(save, SAVE_AFTER);
}

async function save({ leaving = false } = {}) {
  clearTimeout(timer);
  timer = 0;
  if (submitting || stopped) return;
  if (saving) {
    again = true;
    return;
  }
  saving = true;
  const sent = JSON.stringify(read());
  try {
    const response = await fetch(form.dataset.draftUrl, {
      method: "POST",
      body: draftData(),
      headers: { Accept: "application/json" },
      redirect: "manual",
      keepalive: leaving,
    });
    if (response.type === "opaqueredirect" || response.status === 401 || response.status === 403) {
      tell("You are signed out. ", "What you entered is kept in this browser. ", signInLink());
    } else if (response.status === 409) {
      stopped = true;
      tell((await response.json()).error, " What you entered here is still on this page. ", reloadLink());
    } else if (response.ok) {
      const kept = await response.json();
      control("draft_version").value = kept.version;
      saved.replaceChildren("draft saved ", timeElement(kept.saved_at));
      banner.hidden = true;
      if (JSON.stringify(read()) === sent) forgetLocally();
    } else {
      tell(`The server did not keep the draft (${response.status}). `, "It is kept in this browser. ", retryButton());
    }
  } catch {
    tell("The server cannot be reached. ", "What you entered is kept in this browser. ", retryButton());
  } finally {
    saving = false;
    if (again) {
      again = false;
      saveSoon();
    }
  }
}

function tell(first, ...rest) {
  const strong = document.createElement("strong");
  strong.textContent = first;
  banner.replaceChildren(strong, ...rest);
  banner.hidden = false;
  saved.textContent = "not saved";
}

function link(href, text) {
  const element = document.createElement("a");
  element.href = href;
  element.textContent = text;
  return element;
}

const signInLink = () => link(`${form.dataset.loginUrl}?next=${encodeURIComponent(location.pathname)}`, "Sign in again");
const reloadLink = () => link(location.pathname, "Reload");

function retryButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "link-button";
  button.textContent = "Try again";
  button.addEventListener("click", () => save());
  return button;
}

function restore() {
  const copy = localCopy();
  if (!copy || JSON.stringify(copy.state) === JSON.stringify(read())) {
    if (!copy) forgetLocally();
    return;
  }
  write(copy.state);
  before = read();
  tell("Restored. ", "This is what this browser kept at ", timeElement(copy.at), "; it is being saved now.");
  saveSoon();
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden" && timer) save({ leaving: true });
});
addEventListener("pagehide", () => {
  if (timer) save({ leaving: true });
});
addEventListener("online", () => {
  if (localCopy()) saveSoon();
});

form.addEventListener("submit", (event) => {
  if (submitting) {
    event.preventDefault();
    return;
  }
  submitting = true;
  clearTimeout(timer);
  countTime();
  keepLocally();
  forgetAfterSubmission();
  form.setAttribute("aria-busy", "true");
});
addEventListener("pageshow", (event) => {
  if (event.persisted) submitting = false;
});

/* ---- the hold on the trace, renewed while the page is looked at; other tabs -------------------------- */

const HOLD_EVERY = 10 * 60_000;

async function renewHold() {
  if (document.visibilityState !== "visible" || submitting) return;
  const data = new FormData();
  data.set("csrfmiddlewaretoken", control("csrfmiddlewaretoken").value);
  try {
    const response = await fetch(form.dataset.holdUrl, { method: "POST", body: data, redirect: "manual" });
    if (response.ok && !(await response.json()).until) {
      notice("Somebody else reads this trace too. ", "It was kept for you until it stood idle for too long; you can still submit it.");
    }
  } catch {
    // The next draft will tell if the server is gone.
  }
}

if (form.dataset.holdUrl) setInterval(renewHold, HOLD_EVERY);

function notice(first, rest) {
  const line = document.querySelector("[data-notice]");
  const strong = document.createElement("strong");
  strong.textContent = first;
  line.replaceChildren(strong, rest);
  line.hidden = false;
}

watch(localKey, () => {
  notice("This trace is open in another tab too. ", "Go on in one of them; the other cannot overwrite what you save.");
});

/* ---- active time: only while something is done on a visible page ----------------------------------- */

let lastAct = performance.now();
let counted = Number(control("active_seconds").value) || 0;

function countTime() {
  const now = performance.now();
  counted += Math.min(now - lastAct, IDLE_AFTER) / 1000;
  lastAct = now;
  control("active_seconds").value = Math.round(counted);
}

for (const kind of ["pointermove", "keydown", "wheel", "touchmove"]) {
  addEventListener(kind, () => {
    if (performance.now() - lastAct > 1000) countTime();
  }, { passive: true });
}

/* ---- steps: moving, marking, their source ---------------------------------------------------------- */

let current = -1;

function go(to, { focus = true } = {}) {
  if (!steps.length) return;
  current = Math.max(0, Math.min(steps.length - 1, to));
  if (focus) steps[current].focus({ preventScroll: true });
  bring();
  // Steps of a long solution get their height when they come near.
  requestAnimationFrame(bring);
}

function bring() {
  const question = document.querySelector(".question");
  const covered = question && getComputedStyle(question).position === "sticky" ? question.offsetHeight : 0;
  const box = steps[current].getBoundingClientRect();
  const frame = scroller.getBoundingClientRect();
  const top = Math.max(frame.top, 0) + covered + 8;
  const bottom = Math.min(frame.bottom, document.querySelector(".decision").getBoundingClientRect().top) - 8;
  const mover = scroller.scrollHeight > scroller.clientHeight + 1 ? scroller : document.scrollingElement;
  if (box.top < top || box.height > bottom - top) mover.scrollTop += box.top - top;
  else if (box.bottom > bottom) mover.scrollTop += box.bottom - bottom;
}

function toggleSource(item) {
  const button = item.querySelector("[data-source]");
  const source = item.querySelector(".step-source");
  source.hidden = !source.hidden;
  button.setAttribute("aria-expanded", String(!source.hidden));
  button.textContent = source.hidden ? "source" : "hide source";
}

const copyStep = (item) => copySource(item, item.querySelector("[data-copy]"));

for (const [index, item] of steps.entries()) {
  item.addEventListener("focus", () => { current = index; });
  item.addEventListener("step:show", () => go(index, { focus: false }));
  item.addEventListener("click", (event) => {
    if (event.target.closest("[data-source]")) {
      toggleSource(item);
      return;
    }
    if (event.target.closest("[data-copy]")) {
      copyStep(item);
      return;
    }
    if (event.defaultPrevented || event.target.closest("a:not(.step-number), .step-source")) return;
    if (event.target.closest(".step-number")) {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
    }
    if (!getSelection().isCollapsed) return;
    current = index;
    mark(Number(item.dataset.step));
  });
}

/* ---- keys ------------------------------------------------------------------------------------------ */

function open(selector) {
  const details = document.querySelector(selector);
  if (!details) return;
  details.open = true;
  details.querySelector("textarea, input:not([type=hidden])")?.focus();
}

function showSheet() {
  if (!sheet.open) sheet.showModal();
}

const keys = {
  j: () => go(current + 1),
  ArrowDown: () => go(current + 1),
  k: () => go(current - 1),
  ArrowUp: () => go(current - 1),
  e: () => current >= 0 && mark(Number(steps[current].dataset.step)),
  n: () => set({ first_error: "none", step: "" }),
  c: () => set({ final: "right" }),
  x: () => set({ final: "wrong" }),
  u: undo,
  w: () => open("[data-key-report]"),
  s: () => open("[data-skip]"),
  t: () => current >= 0 && toggleSource(steps[current]),
  y: () => current >= 0 && copyStep(steps[current]),
  "/": openFind,
  "?": showSheet,
};

const isText = (element) =>
  element.isContentEditable ||
  element.matches("textarea, select, input:not([type=radio], [type=checkbox], [type=button], [type=submit])");

addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229 || event.defaultPrevented || sheet.open) return;
  if (isText(event.target)) {
    if (event.key === "Escape") {
      event.target.blur();
      if (current >= 0) go(current);
    }
    return;
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey) {
    event.preventDefault();
    form.requestSubmit(form.querySelector("button[name=then]"));
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const radio = event.target.matches("input[type=radio]");
  if (radio && event.key.startsWith("Arrow")) return;
  const act = Object.hasOwn(keys, event.key) ? keys[event.key] : null;
  if (!act) return;
  event.preventDefault();
  act();
});

document.querySelector("[data-keys]")?.addEventListener("click", showSheet);

/* ---- at the start ---------------------------------------------------------------------------------- */

if (matchMedia("(max-width: 1100px)").matches) document.querySelector("[data-guideline]").open = false;
show();
forgetSubmitted();
restore();
if (location.hash.startsWith("#step-")) {
  const index = steps.findIndex((item) => `#${item.id}` === location.hash);
  if (index >= 0) {
    go(index);
    // The browser's own jump, which knows nothing of what covers the top, comes when everything is loaded.
    addEventListener("load", () => requestAnimationFrame(() => { if (current === index) go(index); }));
  }
}
