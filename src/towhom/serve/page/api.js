// Requests to the server: one error type, the token, waiting when the server asks for it, event streams.

const TOKEN = "towhom-token";
const MOST_WAITS = 6;
const LONGEST_WAIT = 30;
const LARGE = 50_000_000; // bytes
const SILENCE = 45_000; // the server sends a sign of life every 15 seconds

/** What the server said is wrong, as its sentence. */
export class ApiError extends Error {
  constructor(message, { status = 0, code = "", where = null } = {}) {
    super(message);
    Object.assign(this, { status, code, where });
  }
}

let asking = null;

/** Ask for the token; requests that need it at the same time share one question. */
function askForToken(refused) {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("token-dialog");
    const input = dialog.querySelector("input");
    dialog.querySelector("#token-refused").hidden = !refused;
    dialog.returnValue = "";
    dialog.addEventListener(
      "close",
      () => {
        const token = dialog.returnValue === "ok" ? input.value.trim() : "";
        input.value = "";
        asking = null;
        if (token) sessionStorage.setItem(TOKEN, token);
        resolve(token !== "");
      },
      { once: true },
    );
    dialog.showModal();
  });
  return asking;
}

async function errorOf(response) {
  const { status } = response;
  try {
    const { error } = await response.json();
    return new ApiError(error.message, { status, code: error.code, where: error.where });
  } catch {
    return new ApiError(`The server answered with status ${status}, and did not say why.`, { status });
  }
}

const pause = (seconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

/** An answer that is fine; asks for the token, and waits when the server says so. */
async function fetchWithToken(path, { headers = {}, signal, onWait, ask = true, ...rest } = {}) {
  let waits = 0;
  for (;;) {
    const token = sessionStorage.getItem(TOKEN);
    const sent = token ? { ...headers, Authorization: `Bearer ${token}` } : headers;
    let response;
    try {
      response = await fetch(path, { ...rest, headers: sent, signal });
    } catch (error) {
      if (signal?.aborted) throw error;
      const large = rest.body?.size > LARGE ? ", or does not take so large a file" : "";
      throw new ApiError(`The server cannot be reached${large}. See whether it runs, then try again.`);
    }
    if (response.ok) return response;
    if (response.status === 401 && ask) {
      // Another request may have got a new token in the meantime: then that one is tried first.
      if (token !== sessionStorage.getItem(TOKEN) || (await askForToken(token !== null))) continue;
    }
    const wait = Number(response.headers.get("Retry-After"));
    if (response.status === 429 && wait > 0 && wait <= LONGEST_WAIT && waits < MOST_WAITS) {
      waits += 1;
      onWait?.(wait);
      await pause(wait, signal);
      continue;
    }
    throw await errorOf(response);
  }
}

/** The answer to a request as JSON; `body` makes it a POST; without `ask` nobody is asked for a token. */
export async function request(path, { body, headers = {}, signal, onWait, ask } = {}) {
  const post =
    body === undefined
      ? { headers }
      : {
          method: "POST",
          headers: { ...headers, "Content-Type": "application/json" },
          body: JSON.stringify(body),
        };
  const response = await fetchWithToken(path, { ...post, signal, onWait, ask });
  return response.json();
}

/** Send a file, and take the lines of JSON that come back, as they come. */
export async function sendFile(path, file, { signal, onLine }) {
  const headers = { "Content-Type": "application/octet-stream" };
  const response = await fetchWithToken(path, { method: "POST", headers, body: file, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let piece;
    try {
      piece = await reader.read();
    } catch (error) {
      if (signal.aborted) throw error;
      throw new ApiError("The connection to the server broke. See whether it runs, then try again.");
    }
    if (piece.done) return;
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop();
    for (const line of lines) onLine(JSON.parse(line));
    if (signal.aborted) throw signal.reason;
  }
}

/** A key that no other request has; `crypto.randomUUID` would need HTTPS. */
export function freshKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

/** Follow a stream of events until it ends or falls silent. EventSource cannot send a token. */
async function readEvents(path, { after, signal, onOpen, onEvent }) {
  const silence = new AbortController();
  let timer;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE);
  };
  const stop = () => silence.abort();
  signal.addEventListener("abort", stop);
  try {
    alive();
    const headers = { Accept: "text/event-stream" };
    if (after >= 0) headers["Last-Event-ID"] = String(after);
    const response = await fetchWithToken(path, { headers, signal: silence.signal, cache: "no-store" });
    onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const data = block
          .split(/\r?\n/)
          .filter((line) => line.startsWith("data:"))
          .map((line) => line.slice(5).trimStart());
        if (data.length) onEvent(JSON.parse(data.join("\n")));
      }
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/**
 * Follow a stream for good: what breaks is taken up again after the last event, with growing pauses.
 *
 * `last()` says the number of the last event that is known, or -1; `onState` hears "live", "waiting" or,
 * where trying again is of no use, "stopped", and why. `nudge.now()` ends a pause.
 */
export async function follow(path, { last, signal, nudge, onState, onEvent }) {
  let wait = 1;
  while (!signal.aborted) {
    let why = null;
    try {
      await readEvents(path, {
        after: last(),
        signal,
        onOpen: () => {
          wait = 1;
          onState("live", null);
        },
        onEvent,
      });
    } catch (error) {
      why = error;
    }
    if (signal.aborted) return;
    const refused = why instanceof ApiError && why.status >= 400 && why.status < 500;
    if (refused && ![404, 408, 429].includes(why.status)) {
      onState("stopped", why);
      return;
    }
    onState("waiting", why);
    const nudged = new Promise((resolve) => (nudge.now = resolve));
    try {
      await Promise.race([pause(wait, signal), nudged]);
    } catch {
      return;
    }
    wait = Math.min(wait * 2, 15);
  }
}
