// Hovering a symbol of a formula marks the same symbol in the question and in every step.

const paper = document.querySelector(".desk-text");
let index = null;
let marked = [];

// A letter with its subscript is another symbol than the letter alone, and an upright m (a unit) another than m;
// powers and primes are not looked at.
function symbolOf(element) {
  const parent = element.parentElement;
  const subscripted = parent?.matches("msub, msubsup") && parent.firstElementChild === element;
  const base = element.textContent.trim() && `${element.getAttribute("mathvariant") ?? ""} ${element.textContent.trim()}`;
  return subscripted ? `${base}_${parent.children[1].textContent.trim()}` : base;
}

function all() {
  if (index) return index;
  index = new Map();
  for (const element of paper.querySelectorAll("math mi")) {
    const symbol = symbolOf(element);
    if (!symbol) continue;
    if (!index.has(symbol)) index.set(symbol, []);
    index.get(symbol).push(element);
  }
  return index;
}

function clear() {
  for (const element of marked) element.classList.remove("is-same");
  marked = [];
}

paper?.addEventListener("pointerover", (event) => {
  const element = event.target.closest?.("mi");
  if (!element) {
    if (marked.length) clear();
    return;
  }
  if (element.classList.contains("is-same")) return;
  clear();
  const same = all().get(symbolOf(element)) ?? [];
  if (same.length < 2) return;
  marked = same;
  for (const one of same) one.classList.add("is-same");
});
paper?.addEventListener("pointerleave", clear);
