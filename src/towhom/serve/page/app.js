// The page: opening a log, looking at its rooms, following a channel.

import { request } from "./api.js";
import { Channel } from "./channel.js";
import { Chat, lastMessages } from "./chat.js";
import { Conversations } from "./conversations.js";
import { byId, count, make } from "./dom.js";
import { Feed } from "./feed.js";
import { askFormat } from "./format.js";
import { listen } from "./keys.js";
import { Log, timeLeft } from "./log.js";
import { dropped, packed } from "./pack.js";
import { Questions } from "./questions.js";
import { Reply } from "./reply.js";
import { Rooms, countOf } from "./rooms.js";
import { matches, termsOf } from "./search.js";
import { announce, calm, fail, say } from "./status.js";

const CONTEXT = 100; // messages that are sent to rank what comes next
const LARGE = 50_000; // characters of a pasted text
const PAUSE = 150; // milliseconds after a key, until what is typed is looked for
const REST = 8; // times as long as it took to show something, until it is shown again

let chats = [new Chat()];
let chat = chats[0]; // the one that is shown
let source = null; // where it is from: {name, log} or {name, channel}
let work = new AbortController(); // what is done for the chats that are shown
let opening = new AbortController(); // what is done for the next ones
let filter = noFilter();
let news = 0;
let scheduled = false;
let typing = 0; // the timer since the last key in the search field
let cost = 0; // milliseconds that it took to show everything

function noFilter() {
  return { conversation: null, speaker: "", also: false, open: false, query: "", terms: [] };
}

// -- opening a log

function begin() {
  opening.abort();
  opening = new AbortController();
  return opening;
}

function enter(fresh, from) {
  work.abort();
  work = opening;
  opening = new AbortController();
  chats = fresh;
  source = from;
  const live = source.channel !== undefined;
  questions.reset();
  byId("say").hidden = !live;
  byId("live").hidden = !live;
  document.body.classList.toggle("is-live", live);
  document.title = `${source.name} · towhom`;
  screen("chat");
  tab("chat");
  show(chats[0]);
}

/** Show one of the chats. */
function show(next) {
  chat = next;
  // What is looked for in one room is looked for in the next.
  const { query, terms, open } = filter;
  filter = { ...noFilter(), query, terms, open };
  news = 0;
  conversations.reset();
  reply.reset();
  feed.reset({ atEnd: source.channel !== undefined }); // in sight: what is hidden does not scroll
  update();
}

async function openFile(file, name, format = "") {
  const opened = begin();
  const { signal } = opened;
  const log = new Log(name, format);
  let entered = false;
  const cancel = () => {
    opened.abort();
    const shown = `${log.done.toLocaleString()} of ${log.of?.toLocaleString()} lines`;
    say(entered ? `Cancelled after ${shown}.` : "Cancelled.", {});
  };
  const tell = () => {
    if (signal.aborted || log.complete) return;
    if (log.of === null) {
      say("Reading…", { cancel, left: log.done ? `${log.done.toLocaleString()} lines` : "" });
      return;
    }
    const left = `${log.done.toLocaleString()} of ${log.of.toLocaleString()}`;
    const rest = timeLeft(log.left);
    say("Finding out who talks to whom…", {
      cancel,
      done: log.done,
      of: log.of,
      left: rest ? `${left} · ${rest}` : left,
    });
  };
  tell();
  feed.busy = true;
  try {
    await log.open(file, signal, {
      rooms: () => {
        entered = true;
        history.replaceState(null, "", location.pathname + location.search);
        byId("search").value = "";
        filter = noFilter();
        enter(log.rooms, { name, log, file });
      },
      progress: () => (log.of === null ? tell() : update(tell)),
    });
    say(log.assumed || log.problems, { tell: log.assumed ? () => tellFormat(file, log) : null });
    announce(`${count(log.of, "line")} in ${count(log.rooms.length, "room")}.`);
  } catch (error) {
    if (!signal.aborted) fail(error, () => openFile(file, name, format), () => tellFormat(file, log, error.message));
  } finally {
    if (opened === opening || opened === work) {
      if (entered) showNow(); // the last of it may be waiting for its turn
      feed.busy = false;
    }
  }
}

/** Show what `towhom report` says of the log. It is counted once, and kept as long as the log is shown. */
async function showReport() {
  const { log, file } = source;
  if (!log.complete || log.counting) return;
  const { signal } = work;
  const asked = new AbortController();
  signal.addEventListener("abort", () => asked.abort());
  const cancel = () => {
    asked.abort();
    say("Cancelled.");
  };
  const tell = (done) => say("Counting…", { cancel, done, of: log.of });
  try {
    if (!log.page) {
      tell(0);
      log.counting = true;
      log.page = await log.report(file, asked.signal, tell);
      say("");
    }
    if (signal.aborted) return;
    const url = URL.createObjectURL(log.page);
    byId("report-frame").src = url;
    byId("report-save").href = url;
    byId("report-save").download = `${log.name.replace(/\.\w+$/, "")} report.html`;
    const dialog = byId("report-dialog");
    dialog.addEventListener("close", () => URL.revokeObjectURL(url), { once: true });
    dialog.showModal();
  } catch (error) {
    if (!asked.signal.aborted) fail(error, showReport);
  } finally {
    log.counting = false;
  }
}

/** Ask how a log is written, and read it so. */
async function tellFormat(file, log, why = log.assumed || "It was read as shown; say so if that is wrong.") {
  try {
    const format = await askFormat(file, why, log.found);
    if (format !== null) await openFile(file, log.name, format);
  } catch (error) {
    fail(error);
  }
}

function openText(text) {
  if (text.trim()) return openFile(new Blob([text]), "Pasted chat");
  byId("log").focus();
  return fail("There is nothing to read yet: paste a log, choose a file, or take the sample.");
}

/** Open a file; several go to the server as one archive. `files` are pairs of a path and a file. */
async function openFiles(files) {
  try {
    if (files.length === 0) fail("There is no file in what was dropped.");
    else if (files.length === 1) await openFile(files[0][1], files[0][1].name);
    else {
      say(`Packing ${count(files.length, "file")}…`);
      await openFile(await packed(files), nameOfAll(files));
    }
  } catch (error) {
    fail(error instanceof DOMException ? "What was dropped cannot be read." : error);
  }
}

/** The folder that all files are in, or how many there are. */
function nameOfAll(files) {
  const tops = new Set(files.map(([path]) => path.split("/")[0]));
  return tops.size === 1 ? [...tops][0] : count(files.length, "file");
}

// -- a live channel

function openChannel(id) {
  const { signal } = begin();
  const channel = new Channel(id);
  byId("search").value = "";
  filter = noFilter();
  feed.busy = false;
  enter([channel.chat], { channel, name: id });
  history.replaceState(null, "", `#channel=${encodeURIComponent(id)}`);
  say("");
  liveState("connecting");
  channel.open(signal, {
    fetched: update,
    message: hear,
    replaced: () => openChannel(id),
    state: (state, why) => {
      liveState(state, why);
      if (state === "stopped") fail(why, () => openChannel(id));
    },
  });
}

function hear(line) {
  if (line.spoken) {
    announce(`${line.speaker}${line.to ? ` to ${line.to}` : ""}: ${line.text}`);
    if (!feed.atEnd) news += 1;
  }
  update();
}

function liveState(state, why = null) {
  const words = {
    connecting: "connecting",
    live: "live",
    waiting: why?.status === 404 ? "nobody has spoken here yet" : "connection lost, trying again",
    stopped: "not following",
  };
  byId("live").dataset.state = state;
  byId("live-state").textContent = words[state];
}

async function speak() {
  const [speaker, text] = [byId("say-as").value.trim(), byId("say-text").value.trim()];
  if (!speaker || !text) {
    byId(speaker ? "say-text" : "say-as").focus();
    return;
  }
  const button = byId("say").querySelector("button");
  button.disabled = true;
  try {
    await source.channel.say(speaker, text);
    if (byId("say-text").value.trim() === text) byId("say-text").value = "";
    calm();
    feed.toEnd();
  } catch (error) {
    fail(error);
  } finally {
    button.disabled = false;
  }
}

// -- what is shown

/** Show what has changed: at most once for each picture on the screen, and less often where it takes long. */
function update(also = null) {
  if (scheduled) return;
  scheduled = true;
  setTimeout(
    () =>
      requestAnimationFrame(() => {
        scheduled = false;
        also?.();
        const start = performance.now();
        showNow();
        cost = performance.now() - start;
      }),
    cost > 8 ? Math.min(REST * cost, 2000) : 0,
  );
}

function wanted(line) {
  const { conversation, speaker, also, open, terms } = filter;
  if (!filtered()) return true;
  if (!line.spoken) return false;
  if (conversation !== null && line.conversation !== conversation) return false;
  if (speaker && line.speaker !== speaker && !(also && line.to === speaker)) return false;
  if (open && !line.open) return false;
  return terms.length === 0 || matches(line, terms);
}

const filtered = () =>
  filter.conversation !== null || filter.speaker !== "" || filter.open || filter.terms.length > 0;

function showNow() {
  const lines = filtered() ? chat.lines.filter(wanted) : chat.lines;
  feed.show(lines, filter.terms);
  conversations.show(chat, filter.conversation);
  const busy = source.log !== undefined && !source.log.complete && !work.signal.aborted;
  byId("report").disabled = busy;
  questions.show(chats, chat, { busy });
  rooms.show(chats, chat, filter.terms);
  byId("filter").textContent = filterText(lines.length);
  byId("clear").hidden = !filtered();
  byId("only-open").checked = filter.open;
  byId("open-count").textContent = `(${chat.unanswered.toLocaleString()})`;
  const open = chats.reduce((sum, each) => sum + each.unanswered, 0);
  for (const total of document.querySelectorAll(".open-total")) total.textContent = open ? open.toLocaleString() : "";
  byId("also").checked = filter.also;
  byId("also-field").hidden = filter.speaker === "";
  byId("newer").hidden = news === 0;
  byId("newer").textContent = `↓ ${count(news, "new message")}`;
  byId("messages").dataset.empty = lines.length ? "" : busy && !filtered() ? "waiting" : "nothing";
  showPeople();
  showTitle();
}

function filterText(shown) {
  if (!filtered()) return "";
  const about = [];
  if (filter.conversation) about.push(`conversation ${filter.conversation.number}`);
  if (filter.speaker) about.push(filter.also ? `${filter.speaker} and what they are told` : filter.speaker);
  if (filter.open) about.push("unanswered");
  if (filter.terms.length) about.push(`“${filter.query}”`);
  const found = `${shown.toLocaleString()} of ${chat.spoken.length.toLocaleString()}`;
  const others = filter.terms.length
    ? chats.reduce((sum, each) => (each === chat ? sum : sum + countOf(each, filter.terms)), 0)
    : 0;
  return `${about.join(", ")}: ${found}${others ? `, ${others.toLocaleString()} in other rooms` : ""}`;
}

function showPeople() {
  const speaker = byId("speaker");
  if (speaker.options.length !== chat.speakers.size + 1) {
    const names = [...chat.speakers.keys()].sort((a, b) => a.localeCompare(b));
    speaker.replaceChildren(
      make("option", { value: "" }, "everybody"),
      ...names.map((name) => make("option", { value: name }, name)),
    );
    byId("people").replaceChildren(...names.map((name) => make("option", { value: name })));
  }
  speaker.value = filter.speaker;
}

function showTitle() {
  byId("title").textContent = source.name;
  const parts = [
    chat.format,
    `${source.channel && chat.first > 0 ? "latest " : ""}${count(chat.spoken.length, "message")}`,
    count(chat.persons, "person", "people"),
    count(chat.conversations.length, "conversation"),
  ];
  byId("subtitle").textContent = parts.filter(Boolean).join(" · ");
}

function change(next) {
  filter = { ...filter, ...next };
  showNow();
}

function clear() {
  clearTimeout(typing);
  byId("search").value = "";
  filter = noFilter();
  showNow();
}

/** Go to a message, in whichever room it is. */
function goTo(line) {
  if (line.chat !== chat) {
    byId("search").value = "";
    filter = noFilter();
    show(line.chat);
  }
  tab("chat");
  if (!wanted(line)) clear();
  else showNow();
  feed.goTo(line, { middle: true });
}

function screen(name) {
  document.body.dataset.screen = name;
  byId("start").hidden = name !== "start";
  byId("reading").hidden = name !== "chat";
  byId("again").hidden = name !== "chat";
  byId("format").hidden = name !== "chat" || !source?.log;
  byId("report").hidden = byId("format").hidden;
  byId("back").hidden = name !== "start" || source === null;
  if (name === "start") showChannels();
}

function tab(name) {
  document.body.dataset.tab = name;
  if (name === "conversations" || name === "questions") side(name);
  for (const button of document.querySelectorAll(".tabs button")) {
    if (button.dataset.tab === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

/** What the list beside the chat shows: conversations, or open questions. */
function side(name) {
  document.body.dataset.side = name;
  for (const button of document.querySelectorAll(".sides button")) {
    button.setAttribute("aria-pressed", String(button.dataset.side === name));
  }
}

/** Offer the channels that there are; as long as no token is known, none. */
async function showChannels() {
  try {
    const { channels } = await request("v1/channels?limit=100", { ask: false });
    byId("channels").replaceChildren(...channels.map(({ id }) => make("option", { value: id })));
  } catch {
    // An id can be typed all the same.
  }
}

// -- wiring

const feed = new Feed(byId("messages"), {
  conversation: (line) =>
    change({ conversation: filter.conversation === line.conversation ? null : line.conversation }),
  speaker: (name) => change({ speaker: filter.speaker === name ? "" : name }),
  clear,
  announce,
  end: (atEnd) => {
    if (!atEnd || news === 0) return;
    news = 0;
    byId("newer").hidden = true;
  },
});

const conversations = new Conversations((conversation) => {
  change({ conversation: filter.conversation === conversation ? null : conversation });
  tab("chat");
});

const questions = new Questions(goTo);
const rooms = new Rooms(show);

const reply = new Reply(async (responder, candidates) => {
  const body = { responder, candidates, top: 10000 }; // the table has a place for every pair
  const path = source.channel?.path("select") ?? "v1/select";
  if (!source.channel) body.messages = lastMessages(chat, CONTEXT);
  const { selections } = await request(path, { body });
  calm();
  return selections;
}, fail);

const submit = (id, act) =>
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    act();
  });

submit("open", () => openText(byId("log").value));
submit("follow", () => {
  const id = byId("channel").value.trim();
  if (id) openChannel(id);
  else byId("channel").focus();
});
submit("say", speak);
submit("tools", () => {});

byId("sample").addEventListener("click", async () => {
  try {
    const { log, name } = await request("v1/sample");
    await openFile(new Blob([log]), name);
  } catch (error) {
    fail(error);
  }
});
byId("log").addEventListener("paste", (event) => {
  const text = event.clipboardData.getData("text/plain");
  if (text.length < LARGE) return;
  // Browsers need many seconds to insert so much line by line.
  event.preventDefault();
  const { selectionStart, selectionEnd } = byId("log");
  byId("log").setRangeText(text, selectionStart, selectionEnd, "end");
});
byId("choose").addEventListener("click", () => byId("file").click());
byId("file").addEventListener("change", () => {
  if (byId("file").files.length) openFiles([...byId("file").files].map((file) => [file.name, file]));
  byId("file").value = "";
});

byId("again").addEventListener("click", () => {
  screen("start");
  byId("log").focus();
});
byId("back").addEventListener("click", () => {
  screen("chat");
  feed.focus();
});
byId("dismiss").addEventListener("click", () => say(""));
byId("format").addEventListener("click", () => tellFormat(source.file, source.log));
byId("report").addEventListener("click", showReport);
byId("report-close").addEventListener("click", () => byId("report-dialog").close());
byId("speaker").addEventListener("change", () => change({ speaker: byId("speaker").value }));
byId("also").addEventListener("change", () => change({ also: byId("also").checked }));
byId("only-open").addEventListener("change", () => change({ open: byId("only-open").checked }));
byId("clear").addEventListener("click", () => {
  clear();
  feed.focus();
});
function search() {
  const query = byId("search").value.trim();
  change({ query, terms: termsOf(query) });
}

byId("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(search, PAUSE);
});
byId("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.isComposing) {
    clearTimeout(typing);
    search();
    feed.focus();
  }
});
for (const button of document.querySelectorAll(".sides button")) {
  button.addEventListener("click", () => side(button.dataset.side));
}
byId("newer").addEventListener("click", () => feed.toEnd());
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  if (document.body.dataset.screen === "start") byId("log").focus();
  else {
    tab("chat");
    feed.focus();
  }
});
for (const button of document.querySelectorAll(".tabs button")) {
  button.addEventListener("click", () => tab(button.dataset.tab));
}
listen({
  isOpen: () => document.body.dataset.screen === "chat",
  message: (key) => feed.key(key),
  search: () => {
    tab("chat");
    byId("search").focus();
    byId("search").select();
  },
  side: () => side(document.body.dataset.side === "questions" ? "conversations" : "questions"),
  unanswered: () => change({ open: !filter.open }),
  room: (by) => rooms.next(chat, by),
  clear: () => filtered() && clear(),
});

let dragged = 0;
const dropping = (on) => document.body.classList.toggle("dropping", on);
document.addEventListener("dragenter", (event) => {
  event.preventDefault();
  dragged += 1;
  dropping(true);
});
document.addEventListener("dragleave", () => {
  dragged = Math.max(0, dragged - 1);
  dropping(dragged > 0);
});
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  dragged = 0;
  dropping(false);
  const text = event.dataTransfer.getData("text/plain");
  if (event.dataTransfer.files.length) dropped(event.dataTransfer).then(openFiles, fail);
  else if (text) {
    byId("log").value = text;
    openText(text);
  }
});

const linked = () => new URLSearchParams(location.hash.slice(1)).get("channel");
window.addEventListener("hashchange", () => linked() && openChannel(linked()));
if (linked()) openChannel(linked());
else screen("start");
