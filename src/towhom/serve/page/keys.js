// Keys that work wherever the keyboard is, but for fields in which one types; and the list of them.

import { byId } from "./dom.js";

const TYPED = "input:not([type=checkbox]), textarea, select, [contenteditable]";
const PRESSED = "button, a, summary, input";

/**
 * Listen to keys.
 *
 * @param on what to do: `message(key)` says whether that was a key for messages; `search()`, `side()`,
 * `unanswered()`, `room(by)`, `clear()`; `isOpen()` says whether a chat is shown
 */
export function listen(on) {
  const help = byId("help");
  const act = {
    "?": () => help.showModal(),
    "/": () => on.isOpen() && on.search(),
    o: () => on.isOpen() && on.side(),
    u: () => on.isOpen() && on.unanswered(),
    "[": () => on.isOpen() && on.room(-1),
    "]": () => on.isOpen() && on.room(1),
  };
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    // On many keyboards, brackets need AltGr, which may look like Ctrl and Alt.
    const held = event.altKey || event.ctrlKey || event.metaKey;
    if ((held && !event.getModifierState("AltGraph")) || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    if (target.matches(TYPED)) {
      if (key === "Escape" && on.isOpen()) {
        on.clear();
        target.blur();
      }
      return;
    }
    // What has the keyboard is pressed with these.
    if ((key === "Enter" || key === " ") && target.closest(PRESSED)) return;
    if (on.isOpen() && on.message(key)) event.preventDefault();
    else if (key === "Escape" && on.isOpen()) on.clear();
    else if (Object.hasOwn(act, key)) {
      act[key]();
      event.preventDefault();
    }
  });
  byId("help-button").addEventListener("click", () => help.showModal());
  help.addEventListener("click", (event) => event.target === help && help.close());
}
