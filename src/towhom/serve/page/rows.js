// What a row of the chat looks like, for those who see it and those who hear it.

import { nameOf, percent, shorten, whenOf } from "./chat.js";
import { make, set } from "./dom.js";
import { plain, render } from "./marks.js";
import { highlight } from "./search.js";

/** Write a line, or the heading of a day, into its row; terms that are looked for are marked. */
export function writeRow(row, item, terms) {
  if (item.isDay) writeDay(row, item);
  else if (item.spoken) writeMessage(row, item, terms);
  else writeNote(row, item);
}

function writeDay(row, item) {
  row.className = "line day";
  set(row, { role: "presentation", tabindex: null });
  row.replaceChildren(make("span", {}, item.name));
}

function writeNote(row, line) {
  row.className = "line note";
  set(row, { "data-kind": line.kind, "data-number": line.position });
  const text = line.kind === "rename" ? `${line.speaker} is now called ${line.text}` : line.text;
  row.replaceChildren(clock(line), make("p", { class: "text", dir: "auto" }, text));
}

function writeMessage(row, line, terms) {
  const { conversation, seen } = line;
  const number = conversation?.number ?? null;
  row.className = `line message ${number === null ? "alone" : `c${conversation.colour}`}`;
  set(row, {
    "aria-label": readOut(line),
    "data-number": line.position,
    "data-speaker": line.speaker,
    "data-to": line.to,
    "data-how": line.to === null ? null : seen.how,
    "data-confidence": seen ? seen.probability.toFixed(4) : null,
    "data-target": line.target ? line.target.position : null,
    "data-conversation": number,
    "data-unanswered": line.open,
  });
  const inside = row.contains(document.activeElement) && document.activeElement !== row;
  row.replaceChildren(
    clock(line),
    who(line),
    make("p", { class: textClass(line), dir: "auto" }, ...render(line)),
    make("span", { class: "marks" }, line.open ? unanswered() : null, number === null ? null : badge(number)),
  );
  if (terms.length) for (const part of row.querySelectorAll(".speaker, .name, .text")) highlight(part, terms);
  if (line.opened) row.append(details(line));
  if (inside) row.focus({ preventScroll: true }); // what had the keyboard is gone
}

const textClass = ({ kind, gone }) => `text${kind === "action" ? " does" : ""}${gone ? " gone" : ""}`;

const clock = (line) => make("time", { class: "clock", datetime: line.time }, whenOf(line.time).clock);

const unanswered = () =>
  make("span", { class: "unanswered", title: "Nobody has answered this yet" }, "unanswered");

function badge(number) {
  const attributes = {
    class: "badge",
    type: "button",
    tabindex: "-1",
    title: `Read only conversation ${number}`,
    "aria-label": `Conversation ${number}: read only this`,
    "data-act": "conversation",
  };
  return make("button", attributes, String(number));
}

function who(line) {
  const speaker = make(
    "b",
    { class: "speaker", dir: "auto", title: `Only what ${line.speaker} says` },
    line.speaker,
  );
  if (line.to === null) return make("span", { class: "who" }, speaker);
  const { how, probability } = line.seen;
  const arrow = make("span", { class: "arrow" }, how === "named" ? "→" : "⇢");
  const to = make("span", { class: `to ${how}` }, arrow, make("span", { class: "name", dir: "auto", title: line.to }, line.to));
  return make("span", { class: "who" }, speaker, to, make("span", { class: "sure" }, percent(probability)));
}

function details(line) {
  const { seen, target, answers } = line;
  if (!seen) return make("div", { class: "details" }, make("p", {}, "Nothing is known of this message yet."));
  const box = make(
    "div",
    { class: "details", role: "group", "aria-label": "Whom this addresses" },
    make("p", { class: "reason" }, `${seen.how === "named" ? "Named" : "Inferred"}: ${seen.reason}.`),
    make("ul", { class: "likely" }, ...seen.addressees.map(bar)),
  );
  if (target) box.append(jump(target, "↑ Go to"));
  else if (answers.length) box.append(jump(answers[answers.length - 1], "↑ Goes on from"));
  return box;
}

function bar({ name, probability }) {
  const length = make("span", { class: "bar" });
  length.style.setProperty("--p", probability);
  const number = make("span", { class: "number" }, percent(probability));
  return make("li", {}, make("span", { class: "name", dir: "auto" }, nameOf(name)), length, number);
}

function jump(line, words) {
  const attributes = { type: "button", class: "quiet jump", "data-jump": line.position };
  const text = make("bdi", {}, shorten(plain(line), 60));
  return make("button", attributes, `${words}: `, make("bdi", {}, line.speaker), " “", text, "”");
}

/** A message for those who hear it. */
function readOut(line) {
  const { seen, conversation } = line;
  const parts = [whenOf(line.time).clock, line.speaker];
  if (line.to !== null) parts.push(`to ${line.to}, ${seen.how}, ${percent(seen.probability)}`);
  const text = plain(line);
  const end = /[.!?…]$/.test(text) ? "" : ".";
  const about = conversation?.number ? ` Conversation ${conversation.number}.` : "";
  return `${parts.filter(Boolean).join(" ")}: ${text}${end}${line.open ? " Unanswered." : ""}${about}`;
}
