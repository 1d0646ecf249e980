// Who writes: each load of a page has a name of its own, and knows whom it follows in its tab.

const KEY = "falsestep:writer";
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("falsestep:desk") : null;

/* The name under which this page saves its drafts. Even a duplicated tab, which brings a copy of the session's
   storage, does not have it. */
export const writer = crypto.randomUUID?.() ?? String(Math.random()).slice(2);

/* When this page began, by the clock that orders its drafts. */
export const started = Date.now();

/* The last page of this tab that sent a draft: what it sent before this page began, this page may overtake. */
export const after = lastWriter();

function lastWriter() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/* Tells the tab's next page that this one has sent something. */
export function remember() {
  try {
    sessionStorage.setItem(KEY, writer);
  } catch {
    // The next page follows nobody: the server judges by the version alone.
  }
}

/* Tells `meet` when the same trace is open in another tab. */
export function watch(trace, meet) {
  if (!channel) return;
  channel.addEventListener("message", (event) => {
    const { open, here, from, to } = event.data ?? {};
    if (open === trace && from !== writer) {
      channel.postMessage({ here: trace, to: from });
      meet();
    }
    if (here === trace && to === writer) meet();
  });
  channel.postMessage({ open: trace, from: writer });
}
