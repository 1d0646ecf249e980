// Who writes: each open page has a name under which it saves drafts, kept over a reload and shared with nobody.

const KEY = "falsestep:writer";
const nonce = crypto.randomUUID?.() ?? String(Math.random()).slice(2);
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("falsestep:desk") : null;
let name = "";

function remembered() {
  try {
    const reloaded = performance.getEntriesByType("navigation")[0]?.type !== "navigate";
    return (reloaded && sessionStorage.getItem(KEY)) || "";
  } catch {
    return "";
  }
}

function remember() {
  try {
    sessionStorage.setItem(KEY, name);
  } catch {
    // The name lasts as long as the page.
  }
}

/* A duplicated tab brings a copy of the session's storage, so the name alone proves nothing: whoever has it is
   asked, and an answer means that it belongs to a page that is still open. */
export const writer = new Promise((resolve) => {
  name = remembered();
  const settle = (fresh) => {
    if (fresh || !name) name = nonce;
    remember();
    resolve(name);
  };
  if (!name || !channel) {
    settle(!name);
    return;
  }
  const answer = (event) => {
    if (event.data?.taken === name && event.data.to === nonce) settle(true);
  };
  channel.addEventListener("message", answer);
  channel.postMessage({ ask: name, from: nonce });
  setTimeout(() => {
    channel.removeEventListener("message", answer);
    settle(false);
  }, 250);
});

/* Tells `meet` when the same trace is open in another tab. */
export function watch(trace, meet) {
  if (!channel) return;
  channel.addEventListener("message", (event) => {
    const { ask, from, open, here } = event.data ?? {};
    if (ask && ask === name && from !== nonce) channel.postMessage({ taken: name, to: from });
    if (open === trace && from !== nonce) {
      channel.postMessage({ here: trace, to: from });
      meet();
    }
    if (here === trace && event.data.to === nonce) meet();
  });
  channel.postMessage({ open: trace, from: nonce });
}
