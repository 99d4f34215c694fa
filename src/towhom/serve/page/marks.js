// What people mark in a message: code, bold, italic, emoji names, mentions, addresses. Texts become text nodes.

import { make } from "./dom.js";
import { emojiOf } from "./emoji.js";

const LONGEST = 20_000; // characters; what is longer is shown as it is
const DEEPEST = 4;

// Each has one group: what is inside of the marks. Where they begin and end, no word goes on.
const around = (mark) => `(?<![\\p{L}\\p{N}${mark}])${mark}(?!\\s)([^\\n${mark}]{1,2000}?)(?<!\\s)${mark}(?![\\p{L}\\p{N}${mark}])`;
const within = (mark) => `${mark}(?!\\s)((?:(?!${mark})[^]){1,2000}?)(?<!\\s)${mark}`;
const SLACK = [
  ["strong", around("\\*")],
  ["em", around("_")],
  ["s", around("~")],
];
const DISCORD = [
  ["strong", within("\\*\\*")],
  ["u", within("__")],
  ["s", within("~~")],
  ["spoiler", within("\\|\\|")],
  ["em", around("\\*")],
  ["em", around("_")],
];
const STYLES = {
  slack: SLACK,
  whatsapp: SLACK,
  rocketchat: SLACK,
  discord: DISCORD,
  mattermost: DISCORD,
  zulip: DISCORD,
  gitter: DISCORD,
  matrix: DISCORD,
};
const COLONS = new Set(["slack", "discord", "mattermost", "rocketchat", "zulip", "gitter"]);
const CODE = [
  ["block", "\\n?```(?:[\\w+#-]*\\n)?([^]+?)```[ \\n]?"],
  ["code", "`([^`\\n]+)`"],
];
const ADDRESS = "https?:\\/\\/[^\\s<>\"'`|]+";
const EMOJI = [
  ["emoji", "<a?:(\\w{2,40}):\\d+>"],
  ["emoji", ":([a-z0-9_+'-]{1,50}):(?::skin-tone-\\d:)?"],
];
const EVERYBODY = new Set(["here", "channel", "everyone", "all"]);
const WORDS = 4; // of a name

const known = new Map();

/** The expression that finds the next mark in logs of a format, and the kinds that its groups stand for. */
function grammarOf(format) {
  let grammar = known.get(format);
  if (!grammar) {
    const marks = [...CODE, ["address", `(${ADDRESS})`]];
    if (COLONS.has(format)) marks.push(...EMOJI);
    marks.push(...(STYLES[format] ?? []));
    grammar = { kinds: marks.map(([kind]) => kind), source: marks.map(([, part]) => part).join("|") };
    known.set(format, grammar);
  }
  return grammar;
}

/** A text in parts: strings, and marks with a kind and what is inside. */
function partsOf(text, format, depth = 0) {
  const { kinds, source } = grammarOf(format);
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(new RegExp(source, "gu"))) {
    const group = found.findIndex((each, place) => place > 0 && each !== undefined);
    const part = markOf(kinds[group - 1], found[group], found[0], format, depth);
    if (part === null) continue;
    if (found.index > end) parts.push(text.slice(end, found.index));
    parts.push(...part);
    end = found.index + found[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

function markOf(kind, inside, whole, format, depth) {
  if (kind === "block" || kind === "code") return [{ kind, text: inside.replace(/^\n|\n$/g, "") }];
  if (kind === "address") {
    const address = addressIn(inside);
    return [{ kind, text: address }, inside.slice(address.length)];
  }
  if (kind === "emoji") {
    const emoji = emojiOf(inside);
    if (emoji) return [{ kind, text: emoji, name: `:${inside}:` }];
    return whole.startsWith("<") ? [`:${inside}:`] : null;
  }
  return [{ kind, parts: depth < DEEPEST ? partsOf(inside, format, depth + 1) : [inside] }];
}

/** An address without what ends the sentence that it stands in; a bracket that it opens belongs to it. */
function addressIn(text) {
  const cut = text.replace(/[.,;:!?\]*_~]+$/, "");
  const closes = cut.endsWith(")") && cut.split("(").length < cut.split(")").length;
  return closes ? addressIn(cut.slice(0, -1)) : cut;
}

/** A message's text as elements. */
export function render({ text, gone, chat, message }) {
  if (gone || text.length > LONGEST) return [text];
  const mentioned = new Set((message.mentions ?? []).map((id) => chat.nameOf(id)));
  const people = (name) => mentioned.has(name) || chat.speakers.has(name) || EVERYBODY.has(name);
  const nodes = (parts) => parts.flatMap((part) => (typeof part === "string" ? withMentions(part, people) : node(part)));
  const node = (part) => {
    const { kind } = part;
    if (kind === "block") return make("code", { class: "block", dir: "ltr" }, part.text);
    if (kind === "code") return make("code", { dir: "ltr" }, part.text);
    if (kind === "emoji") return make("span", { title: part.name }, part.text);
    if (kind === "address") {
      return make("a", { href: part.text, target: "_blank", rel: "noopener noreferrer", dir: "ltr" }, part.text);
    }
    if (kind === "spoiler") return make("span", { class: "spoiler", tabindex: "-1" }, ...nodes(part.parts));
    return make(kind, {}, ...nodes(part.parts));
  };
  return nodes(partsOf(text, chat.format));
}

/** A message's text without the marks, for where there is little room. */
export function plain({ text, gone, chat }) {
  if (gone || text.length > LONGEST) return text;
  const word = (part) => {
    if (typeof part === "string") return part;
    return part.kind === "block" ? ` ${part.text} ` : (part.text ?? words(part.parts));
  };
  const words = (parts) => parts.map(word).join("");
  return words(partsOf(text, chat.format));
}

/** A text with the names in it that stand behind an @ and belong to somebody. */
function withMentions(text, isName) {
  const nodes = [];
  let end = 0;
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    const name = nameAt(text, at + 1, isName);
    if (!name || at < end || /[\p{L}\p{N}.]$/u.test(text.slice(end, at))) continue; // that is a mail address
    nodes.push(text.slice(end, at), make("span", { class: "mention" }, `@${name}`));
    end = at + 1 + name.length;
  }
  return [...nodes, text.slice(end)].filter((each) => each !== "");
}

/** The longest name that begins at a place, of a few words. */
function nameAt(text, start, isName) {
  const ahead = text.slice(start, start + 80);
  const ends = [...ahead.matchAll(/[\p{L}\p{N}_](?![\p{L}\p{N}_])/gu)].slice(0, WORDS);
  const found = ends.reverse().find(({ index, 0: last }) => isName(ahead.slice(0, index + last.length)));
  return found ? ahead.slice(0, found.index + found[0].length) : null;
}
