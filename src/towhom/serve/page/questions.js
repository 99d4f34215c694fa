// The list of questions that nobody has answered: when, who, what, and what answered the like before; a click
// leads to the message.

import { Before } from "./before.js";
import { dayName, shorten, whenOf } from "./chat.js";
import { byId, count, make } from "./dom.js";
import { plain } from "./marks.js";

const PAGE = 60;

export class Questions {
  /** @param go takes the line that was chosen */
  constructor(go) {
    this._limit = PAGE;
    this._items = new Map();
    this._before = new Before();
    byId("question-list").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) go(button.line);
    });
    byId("questions-of").addEventListener("change", () => this._again());
    byId("more-questions").addEventListener("click", () => {
      this._limit += PAGE;
      this._again();
    });
  }

  reset() {
    this._limit = PAGE;
    this._items.clear();
    byId("question-list").replaceChildren();
  }

  /** Show those of all chats, or of the one that is shown. */
  show(chats, chat, { busy = false } = {}) {
    this._last = [chats, chat, { busy }];
    const several = chats.length > 1;
    byId("questions-of").hidden = !several;
    const all = several && byId("questions-of").value === "all";
    const open = (all ? chats : [chat]).flatMap((each) => each.questions);
    if (all) open.sort((a, b) => (b.time ?? "").localeCompare(a.time ?? ""));
    const shown = open.slice(0, this._limit);
    const items = shown.map((line) => this._item(line, all));
    const list = byId("question-list");
    if (items.length !== list.children.length || items.some((item, place) => list.children[place] !== item)) {
      const focused = document.activeElement;
      list.replaceChildren(...items);
      if (list.contains(focused)) focused.focus({ preventScroll: true });
    }
    byId("questions-none").textContent =
      open.length || busy ? "" : "Every question that was asked has an answer.";
    byId("more-questions").hidden = open.length <= this._limit;
    byId("more-questions").textContent = `Show more of ${count(open.length, "question")}`;
  }

  _again() {
    if (this._last) this.show(...this._last);
  }

  _item(line, all) {
    const state = `${line.version}/${all}`;
    let item = this._items.get(line);
    if (item?.state === state) return item;
    const { day, clock } = whenOf(line.time);
    const where = all ? line.chat.name : null;
    const when = [day && dayName(day, { short: true }), clock].filter(Boolean).join(", ");
    const button = make(
      "button",
      { type: "button", class: "question" },
      make("span", { class: "words", dir: "auto" }, shorten(plain(line), 160)),
      make("span", { class: "people" }, make("bdi", {}, line.speaker), where && " in ", where && make("bdi", {}, where)),
      make("time", { class: "size", datetime: line.time }, when),
    );
    button.line = line;
    item ??= make("li");
    item.replaceChildren(button, this._before.of(line));
    item.state = state;
    this._items.set(line, item);
    return item;
  }
}
