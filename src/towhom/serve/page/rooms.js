// The switcher between the rooms of a log, with how many messages each has, or how many of those are looked for.

import { byId, make } from "./dom.js";
import { matches } from "./search.js";

export class Rooms {
  /** @param choose takes the chat that was chosen */
  constructor(choose) {
    this._choose = choose;
    this._sorted = [];
    byId("room").addEventListener("change", () => choose(this._sorted[byId("room").selectedIndex]));
  }

  /** Show the rooms of a log, in the order of their names; a single one needs no switcher. */
  show(chats, chat, terms) {
    if (chats !== this._chats) {
      this._chats = chats;
      const compare = new Intl.Collator(undefined, { numeric: true }).compare;
      this._sorted = [...chats].sort((a, b) => compare(a.name, b.name));
      byId("room").replaceChildren(...this._sorted.map(() => make("option")));
    }
    byId("room-field").hidden = chats.length < 2;
    if (chats.length < 2) return;
    this._sorted.forEach((each, place) => {
      const option = byId("room").options[place];
      const text = `${each.name} (${numbers(each, terms)})`;
      if (option.textContent !== text) option.textContent = text;
      option.selected = each === chat;
    });
    byId("room-field").title = chat.name;
  }

  /** The room before or after one. */
  next(chat, by) {
    const place = this._sorted.indexOf(chat) + by;
    if (this._sorted[place]) this._choose(this._sorted[place]);
  }
}

function numbers(chat, terms) {
  if (terms.length) return `${countOf(chat, terms).toLocaleString()} found`;
  const open = chat.unanswered ? `, ${chat.unanswered.toLocaleString()} open` : "";
  return `${Math.max(chat.expected, chat.spoken.length).toLocaleString()}${open}`;
}

/** How many messages of a chat have what is looked for. */
export const countOf = (chat, terms) => chat.spoken.filter((line) => matches(line, terms)).length;
