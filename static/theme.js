// Lets the theme buttons act at once; without this module the same buttons post to the server.

const form = document.querySelector("[data-theme-form]");

form?.addEventListener("submit", (event) => {
  const choice = event.submitter?.value;
  if (!["system", "light", "dark"].includes(choice)) return;
  event.preventDefault();
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `theme=${choice}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
  document.documentElement.dataset.theme = choice;
  for (const button of form.querySelectorAll("button[name=theme]")) {
    button.setAttribute("aria-pressed", String(button.value === choice));
  }
});

// A menu closes when the focus leaves it, or at Escape.
for (const menu of document.querySelectorAll("details.menu")) {
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.open) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
}
