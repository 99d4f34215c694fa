// What is known of a chat: its lines, whom they address, its conversations, and questions without an answer.

const SPOKEN = new Set(["message", "action", "notice"]);
const CHANGES = new Set(["rename", "edit", "delete"]);
const [MOST_NAME, MOST_TEXT, MOST_MENTIONS] = [200, 4000, 100];
const COLOURS = 8;
const MORE_THAN_A_WORD = /\S\s+\S|[\u2e80-\uffff]/;
const [SHOWN, LEAST] = [5, 0.01]; // of those who may be meant

/** A conversation of two messages or more has a number and a colour; a message on its own has neither. */
class Conversation {
  constructor(key) {
    this.key = key;
    this.lines = [];
    this.people = new Map();
    this.number = null;
    this.colour = null;
    this.question = null; // the line that asks what it begins with
    this.answered = false;
    this.closed = false; // to a question
  }

  get first() {
    return this.lines[0];
  }

  get last() {
    return this.lines[this.lines.length - 1];
  }
}

export class Chat {
  /** @param about its `name`, the `format` of its log, and how many messages are `expected` */
  constructor({ name = null, format = null, expected = 0 } = {}) {
    this.name = name;
    this.format = format;
    this.expected = expected;
    this.lines = []; // what is shown
    this.spoken = []; // the lines that somebody says
    this.all = []; // every line, in the server's order
    this.first = null; // the server's number of the first
    this.speakers = new Map();
    this.conversations = []; // by number
    this.unanswered = 0;
    this._threads = new Map();
    this._lastBy = new Map();
    this._byId = new Map();
    this._names = new Map(); // of those who speak under an identifier
    this._people = new Map(); // a later name -> who bore it first
    this._colourUsed = new Array(COLOURS).fill(-1);
  }

  /** Questions that nobody has answered, the latest first. */
  get questions() {
    return this.spoken.filter((line) => line.open).reverse();
  }

  /** How many people have spoken; whoever is renamed stays one. */
  get persons() {
    return this._lastBy.size;
  }

  /** What people call somebody who has spoken. */
  nameOf(id) {
    return this._names.get(id) ?? id;
  }

  /** Take the next line, and what the server says of it. */
  take(observation) {
    this.first ??= observation.number;
    const line = this._line(observation.message);
    this.all.push(line);
    // What an edit or a deletion changes is shown where it stands.
    if (line.kind !== "edit" && line.kind !== "delete") this.lines.push(line);
    if (line.spoken) {
      this.spoken.push(line);
      this.speakers.set(line.speaker, (this.speakers.get(line.speaker) ?? 0) + 1);
      this._observe(line, observation);
    } else if (line.kind === "rename") {
      this._rename(line);
    } else {
      this._change(line);
    }
    return line;
  }

  _line(message) {
    const { speaker, text, addressee = null, time = null, kind = "message", name = null, id = null } = message;
    if (name) this._names.set(speaker, name);
    return {
      position: this.all.length,
      chat: this,
      message,
      id,
      person: this._people.get(speaker) ?? speaker,
      speaker: this.nameOf(speaker),
      text,
      named: addressee,
      time,
      kind,
      spoken: SPOKEN.has(kind),
      seen: null,
      to: null,
      toPerson: null,
      target: null,
      gone: false,
      conversation: null,
      open: false,
      version: 0,
    };
  }

  _observe(line, observation) {
    if (line.id !== null) this._byId.set(line.id, line);
    const likeliest = observation.addressees[0] ?? { name: null, probability: 1 };
    line.seen = {
      addressees: observation.addressees.filter(
        (each, place) => place === 0 || (place < SHOWN && each.probability >= LEAST),
      ),
      how: observation.how,
      reason: observation.reason,
      asks: observation.asks ?? false,
      probability: likeliest.probability,
    };
    line.to = likeliest.name;
    line.toPerson = likeliest.id ?? likeliest.name;
    line.answers = observation.replies_to
      .map((number) => this.all[number - this.first])
      .filter((other) => other !== undefined && other !== line);
    line.target = this._targetOf(line, line.answers);
    this._lastBy.set(line.person, line);
    this._join(line, this._threadOf(observation.thread - this.first));
    this._question(line);
  }

  /** Whoever is renamed stays who they are. */
  _rename({ person, message: { speaker, text } }) {
    this._people.set(text, person);
    if (this._names.has(speaker)) this._names.set(speaker, text);
  }

  /** A message was changed, or taken back. */
  _change({ kind, id, text }) {
    const line = kind === "edit" || kind === "delete" ? this._byId.get(id) : undefined;
    if (!line || line.gone) return;
    line.text = kind === "edit" ? text : "(taken back)";
    line.gone = kind === "delete";
    if (line.gone && line.conversation?.question === line) {
      this._opened(line, false);
      Object.assign(line.conversation, { question: null, closed: true });
    }
    line.version += 1;
    line.searched = null;
    line.height = 0; // it may have more lines now, or fewer
  }

  _threadOf(position) {
    const known = this.all[position]?.conversation ?? this._threads.get(position);
    if (known) return known;
    const conversation = new Conversation(position);
    this._threads.set(position, conversation);
    return conversation;
  }

  _targetOf(line, answers) {
    if (line.to === null) return null;
    const theirs = answers.filter((other) => other.person === line.toPerson);
    return theirs[theirs.length - 1] ?? this._lastBy.get(line.toPerson) ?? null;
  }

  _join(line, conversation) {
    line.conversation = conversation;
    conversation.lines.push(line);
    conversation.people.set(line.speaker, (conversation.people.get(line.speaker) ?? 0) + 1);
    if (conversation.lines.length === 2) {
      this.conversations.push(conversation);
      conversation.number = this.conversations.length;
      // The colour that has been out of use for longest: neighbours differ.
      conversation.colour = this._colourUsed.indexOf(Math.min(...this._colourUsed));
      conversation.first.version += 1;
    }
    if (conversation.colour !== null) this._colourUsed[conversation.colour] = line.position;
  }

  /** What is open, as src/towhom/threads/questions.py defines it; a test compares the two. */
  _question(line) {
    const { conversation } = line;
    const { first, question } = conversation;
    const own = line.person === first.person;
    const program = line.message.bot || line.kind === "notice";
    if (question !== null) {
      if (!own && !program) {
        conversation.answered = true;
        this._opened(question, false);
      } else if (own && conversation.answered && line.seen.asks) {
        this._opened(question, true);
      }
    } else if (own ? line === first && program : !program) {
      conversation.closed = true; // a program began it, or somebody else has spoken
    } else if (own && !conversation.closed && line.seen.asks && (line === first || MORE_THAN_A_WORD.test(line.text))) {
      conversation.question = line;
      this._opened(line, true);
    }
  }

  _opened(line, open) {
    if (line.open === open) return;
    line.open = open;
    line.version += 1;
    this.unanswered += open ? 1 : -1;
  }
}

/** The last lines of a chat that the API takes: what is said, and changes that say what they change. */
export function lastMessages(chat, most) {
  const taken = ({ spoken, kind, id, text }) =>
    spoken || (CHANGES.has(kind) && (kind === "rename" ? text !== "" : id !== null));
  return chat.all.slice(-most).filter(taken).map(messageOf);
}

/** A line as the API takes messages, within its limits on names and text. */
function messageOf(line) {
  const { speaker, id = null, reply_to = null, name = null, mentions = [], bot = false } = line.message;
  const short = (value) => (value === null ? null : cut(value, MOST_NAME));
  return {
    speaker: short(speaker),
    text: cut(line.text, line.kind === "rename" ? MOST_NAME : MOST_TEXT),
    addressee: short(line.named),
    time: line.time,
    id: short(id),
    reply_to: short(reply_to),
    kind: line.kind,
    name: short(name),
    mentions: mentions.slice(0, MOST_MENTIONS).map(short),
    bot,
  };
}

/** The first characters of a text; half a surrogate pair at its end is left out. */
function cut(text, length) {
  return text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
}

const HAS_ZONE = /(Z|[+-]\d\d:?\d\d)$/;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const shortDate = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** Time and day of a line: a log's own clock as it is, a time with a zone in the reader's zone. */
export function whenOf(time) {
  if (!time) return { clock: "", day: "" };
  if (!HAS_ZONE.test(time)) return { clock: time.slice(11, 16), day: time.slice(0, 10) };
  const moment = new Date(time);
  const pad = (number) => String(number).padStart(2, "0");
  const day = `${moment.getFullYear()}-${pad(moment.getMonth() + 1)}-${pad(moment.getDate())}`;
  return { clock: clock.format(moment), day };
}

/** A day as people write it; the first day of a log without dates, in the year 1, goes without saying. */
export function dayName(day, { short = false } = {}) {
  if (day.startsWith("0001-")) {
    const number = Math.round((Date.parse(day) - Date.parse("0001-01-01")) / 86_400_000) + 1;
    return number === 1 ? "" : `Day ${number}`;
  }
  const moment = new Date(`${day}T12:00:00`);
  return Number.isNaN(moment.getTime()) ? day : (short ? shortDate : date).format(moment);
}

/** A probability as a whole percentage; what is nearly sure or impossible is not shown as if it were. */
export function percent(probability) {
  const rounded = Math.round(probability * 100);
  if (rounded === 100 && probability < 0.9995) return "> 99 %";
  if (rounded === 0 && probability > 0) return "< 1 %";
  return `${rounded} %`;
}

/** Whom a null in the API's answers stands for. */
export const nameOf = (name) => name ?? "nobody in particular";

/** The beginning of a text, on one line. */
export function shorten(text, length) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= length ? line : `${cut(line, length - 1).trimEnd()}…`;
}
