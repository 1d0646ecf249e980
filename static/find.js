// Find in the solution: marks the steps that hold the words, in the text or in its source, and walks through them.

const box = document.querySelector("[data-find]");
const field = box?.querySelector("input");
const told = box?.querySelector("output");
const steps = [...document.querySelectorAll("[data-step]")];
const highlights = "highlights" in CSS ? new Highlight() : null;
if (highlights) CSS.highlights.set("found", highlights);
let found = [];
let at = -1;

const plain = (text) => text.toLocaleLowerCase().replace(/\s+/g, " ");

function ranges(step, words) {
  const out = [];
  const walker = document.createTreeWalker(step.querySelector(".step-text"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.toLocaleLowerCase();
    for (let place = text.indexOf(words); place >= 0; place = text.indexOf(words, place + words.length)) {
      const range = new Range();
      range.setStart(walker.currentNode, place);
      range.setEnd(walker.currentNode, Math.min(place + words.length, walker.currentNode.length));
      out.push(range);
    }
  }
  return out;
}

function search() {
  const words = plain(field.value.trim());
  highlights?.clear();
  found = words
    ? steps.filter((step) => [".step-source", ".step-text"].some((part) => plain(step.querySelector(part).textContent).includes(words)))
    : [];
  for (const step of steps) step.classList.toggle("is-found", found.includes(step));
  if (highlights) for (const step of found) for (const range of ranges(step, words)) highlights.add(range);
  at = -1;
  told.textContent = words ? (found.length ? `in ${found.length} ${found.length === 1 ? "step" : "steps"}` : "not in this solution") : "";
}

function walk(by) {
  if (!found.length) return;
  at = at < 0 ? (by > 0 ? 0 : found.length - 1) : (at + by + found.length) % found.length;
  found[at].dispatchEvent(new CustomEvent("step:show", { bubbles: true }));
  told.textContent = `step ${found[at].dataset.step}, ${at + 1} of ${found.length}`;
}

export function openFind() {
  field.focus();
  field.select();
}

field?.addEventListener("input", search);
field?.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    walk(event.shiftKey ? -1 : 1);
  } else if (event.key === "Escape") {
    field.value = "";
    search();
  }
});
