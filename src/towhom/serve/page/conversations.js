// The list of conversations: how large, who takes part, how it begins.

import { shorten } from "./chat.js";
import { byId, count, make } from "./dom.js";
import { plain } from "./marks.js";

const PAGE = 60;
const NAMES = 4;

const ORDERS = {
  size: (a, b) => b.lines.length - a.lines.length || a.number - b.number,
  last: (a, b) => b.last.position - a.last.position,
  number: (a, b) => a.number - b.number,
};

export class Conversations {
  /** @param choose takes the conversation that was clicked */
  constructor(choose) {
    this._choose = choose;
    this._limit = PAGE;
    this._items = new Map();
    this._list = byId("conversation-list");
    byId("order").addEventListener("change", () => this._again());
    byId("more").addEventListener("click", () => {
      this._limit += PAGE;
      this._again();
    });
  }

  reset() {
    this._limit = PAGE;
    this._items.clear();
    this._list.replaceChildren();
  }

  /** Show what there is; elements are kept, so that the keyboard stays where it is. */
  show(chat, chosen) {
    this._last = [chat, chosen];
    const sorted = [...chat.conversations].sort(ORDERS[byId("order").value]);
    const shown = sorted.slice(0, this._limit);
    if (chosen && !shown.includes(chosen)) shown.push(chosen);
    const alone = chat.spoken.length - chat.conversations.reduce((sum, each) => sum + each.lines.length, 0);
    const focused = document.activeElement;
    const items = shown.map((conversation) => this._item(conversation, conversation === chosen));
    if (
      items.some((item, place) => this._list.children[place] !== item) ||
      items.length !== this._list.children.length
    ) {
      this._list.replaceChildren(...items);
      if (this._list.contains(focused)) focused.focus({ preventScroll: true });
    }
    byId("more").hidden = sorted.length <= this._limit;
    byId("more").textContent = `Show more of ${sorted.length.toLocaleString()}`;
    byId("alone").textContent = alone ? `${count(alone, "message")} that nobody took up` : "";
  }

  _again() {
    if (this._last) this.show(...this._last);
  }

  _item(conversation, chosen) {
    let item = this._items.get(conversation);
    if (!item) {
      const button = make("button", { type: "button", class: `conversation c${conversation.colour}` });
      button.addEventListener("click", () => this._choose(conversation));
      item = make("li", {}, button);
      this._items.set(conversation, item);
    }
    const button = item.firstChild;
    button.setAttribute("aria-pressed", String(chosen));
    button.dataset.conversation = conversation.number;
    const size = conversation.lines.length;
    if (item.size === size) return item;
    item.size = size;
    const people = [...conversation.people].sort((a, b) => b[1] - a[1]).map(([name]) => name);
    const more = people.length > NAMES ? ` and ${people.length - NAMES} more` : "";
    button.dataset.size = size;
    button.replaceChildren(
      make("span", { class: "badge" }, String(conversation.number)),
      make("span", { class: "words", dir: "auto" }, shorten(plain(conversation.first), 90)),
      make("span", { class: "people", dir: "auto" }, `${people.slice(0, NAMES).join(", ")}${more}`),
      make("span", { class: "size" }, count(size, "message")),
    );
    return item;
  }
}
