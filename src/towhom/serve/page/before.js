// "Has this been asked before?": under an open question, what the server's response bank has that answered the like.

import { ApiError, request } from "./api.js";
import { make } from "./dom.js";

const TOP = 3;
const LINES = 10; // of a question, as the server takes them
const LONGEST = 4000; // characters of a line that are sent

export class Before {
  constructor() {
    this._none = false; // whether the server has no bank
    this._found = new Map(); // question as text -> elements, or null while it is being asked
    this._waiting = [];
    this._asking = false;
  }

  /** What is shown under a question; empty until the server has answered, and where nothing fits. */
  of(line) {
    const place = make("ul", { class: "before", "aria-label": "Answered before" });
    if (this._none) return place;
    const asked = saidWith(line);
    this._waiting.push({ asked, key: asked.join("\n"), place });
    this._next();
    return place;
  }

  /** One after the other, so that a long list does not keep a server from its other work. */
  async _next() {
    if (this._asking) return;
    this._asking = true;
    while (this._waiting.length && !this._none) {
      const { asked, key, place } = this._waiting.shift();
      if (!this._found.has(key)) {
        try {
          const { responses } = await request("v1/answered", { body: { question: asked, top: TOP } });
          this._found.set(key, responses);
        } catch (error) {
          // Without a bank there is nothing to show, and nothing to complain about.
          if (error instanceof ApiError && error.code === "no-bank") this._none = true;
          else if (!(error instanceof ApiError)) throw error;
          continue;
        }
      }
      place.replaceChildren(...this._found.get(key).map(answer));
    }
    this._waiting.length = 0;
    this._asking = false;
  }
}

/** What its speaker said in the same conversation. */
function saidWith(line) {
  const all = line.chat.spoken.filter(
    (each) => each.conversation === line.conversation && each.speaker === line.speaker,
  );
  return (all.length ? all : [line]).slice(0, LINES).map((each) => each.text.slice(0, LONGEST));
}

function answer({ response, source }) {
  const when = source.time?.slice(0, 10);
  const where = [source.document, source.channel, when, source.thanked && "helped"].filter(Boolean).join(" · ");
  const link = /^https?:\/\//.test(source.link ?? "");
  return make(
    "li",
    {},
    make("p", { class: "words", dir: "auto" }, response),
    make("p", { class: "asked", dir: "auto" }, `asked: ${source.opening ?? source.question}`),
    link
      ? make("a", { class: "size", href: source.link, rel: "noreferrer noopener", target: "_blank" }, where)
      : make("p", { class: "size" }, where),
  );
}
