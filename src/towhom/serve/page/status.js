// The status line: what is going on, how far it is, and what is wrong.

import { ApiError } from "./api.js";
import { byId } from "./dom.js";

/**
 * Say what is going on; an empty text ends it.
 *
 * `left` changes all the time, and is not read out; `cancel` is what ends it; `tell`, what asks how a log is written.
 */
export function say(
  text,
  { error = false, retry = null, tell = null, cancel = null, done = null, of = null, left = "" } = {},
) {
  const status = byId("status");
  if (status.textContent !== text) status.textContent = text;
  byId("left").textContent = left;
  byId("cancel").hidden = cancel === null;
  byId("cancel").onclick = cancel;
  status.classList.toggle("error", error);
  byId("dismiss").hidden = !error && tell === null;
  byId("retry").hidden = retry === null;
  byId("retry").onclick = retry;
  byId("tell").hidden = tell === null;
  byId("tell").onclick = tell;
  const progress = byId("progress");
  progress.hidden = of === null;
  if (of !== null) {
    progress.max = of;
    progress.value = done;
  }
}

/** Say what is wrong: an error, or a sentence. */
export function fail(error, retry = null, tell = null) {
  if (error?.name === "AbortError") return;
  if (!(error instanceof ApiError) && typeof error !== "string") console.error(error);
  const text = typeof error === "string" ? error : error.message;
  // What the request itself has wrong is wrong the next time, too.
  const hopeless = error instanceof ApiError && error.status >= 400 && error.status < 429;
  say(text, { error: true, retry: hopeless ? null : retry, tell: error?.code === "unreadable-log" ? tell : null });
}

/** Take back what was said to be wrong, once it is right. */
export function calm() {
  if (byId("status").classList.contains("error")) say("");
}

/** Say something to those who hear the page. */
export const announce = (text) => (byId("announcer").textContent = text);
