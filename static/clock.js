// Shows times in the reader's own time zone; without this module they stand in UTC.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

export function timeElement(iso) {
  const element = document.createElement("time");
  element.dateTime = iso;
  element.textContent = clock.format(new Date(iso));
  return element;
}

for (const element of document.querySelectorAll("time[data-clock]")) {
  const at = new Date(element.dateTime);
  if (Number.isNaN(at.getTime())) continue;
  const text = clock.format(at);
  element.textContent = element.dataset.clock === "day" ? `${day.format(at)} ${text}` : text;
}
