// Copies text with its formulas as LaTeX: a step by its button or key, and whatever is selected in the paper.

export async function copySource(item, button) {
  const source = item.querySelector(".step-source").textContent;
  let done = true;
  try {
    await navigator.clipboard.writeText(source);
  } catch {
    done = byHand(source); // without HTTPS a page has no clipboard of its own
  }
  button.textContent = done ? "copied" : "not copied";
  setTimeout(() => { button.textContent = "copy TeX"; }, 1500);
}

function byHand(text) {
  const area = document.createElement("textarea");
  const before = document.activeElement;
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus({ preventScroll: true });
  return done;
}

document.querySelector(".desk-text")?.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return;
  const part = selection.getRangeAt(0).cloneContents();
  const formulas = part.querySelectorAll("math[alttext]");
  if (!formulas.length) return;
  for (const formula of formulas) {
    const mark = formula.getAttribute("display") === "block" ? "$$" : "$";
    formula.replaceWith(`${mark}${formula.getAttribute("alttext")}${mark}`);
  }
  for (const block of part.querySelectorAll("p, li, tr, div, br")) block.append("\n");
  event.clipboardData.setData("text/plain", part.textContent.replace(/\n{3,}/g, "\n\n").trim());
  event.preventDefault();
});
