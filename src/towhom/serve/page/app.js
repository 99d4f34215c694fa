// The page: opening a chat, looking at it, following a channel.

import { ApiError, request } from "./api.js";
import { Channel } from "./channel.js";
import { Chat, messageOf } from "./chat.js";
import { Conversations } from "./conversations.js";
import { byId, count, make } from "./dom.js";
import { Feed } from "./feed.js";
import { readLog, textOf } from "./log.js";
import { Reply } from "./reply.js";
import { announce, calm, fail, say } from "./status.js";

const MOST = 2000; // messages in a request
const OVERLAP = 100; // messages that are sent again, so that the next request knows what was said before
const MOST_BYTES = 1_500_000;
const LARGE = 50_000; // characters of a pasted text

let chat = new Chat();
let source = null; // where it is from: {name, format} of a log, or {name, channel}
let work = new AbortController(); // what is done for the chat that is shown
let opening = new AbortController(); // what is done for the next one
let filter = noFilter();
let news = 0;
let scheduled = false;

function noFilter() {
  return { conversation: null, speaker: "", also: false, open: false };
}

// -- opening a log

function begin() {
  opening.abort();
  opening = new AbortController();
  return opening.signal;
}

function enter({ chat: fresh, ...from }) {
  work.abort();
  work = opening;
  opening = new AbortController();
  chat = fresh;
  source = from;
  filter = noFilter();
  news = 0;
  const live = source.channel !== undefined;
  conversations.reset();
  reply.reset();
  byId("say").hidden = !live;
  byId("live").hidden = !live;
  document.body.classList.toggle("is-live", live);
  document.title = `${source.name} · towhom`;
  screen("chat");
  tab("chat");
  feed.reset({ atEnd: live }); // in sight: what is hidden does not scroll
  update();
}

async function openLog(log, name) {
  if (!log.trim()) {
    byId("log").focus();
    fail("There is nothing to read yet: paste a log, choose a file, or take the sample.");
    return;
  }
  const signal = begin();
  try {
    const onPart = (done, of) => say("Reading…", of > 1 ? { done, of } : {});
    const read = await readLog(log, name, { signal, onPart });
    const fresh = new Chat();
    for (const message of read.messages) if (message.kind !== "day") fresh.add(message);
    if (!fresh.spoken.length) {
      fail("No message was found in it. See whether it is a chat log, then try again.");
      return;
    }
    history.replaceState(null, "", location.pathname + location.search);
    enter({ chat: fresh, name: name ?? "Pasted chat", format: read.format });
    await look(signal, read.problems);
  } catch (error) {
    fail(error, () => openLog(log, name));
  }
}

/** Ask the server about all messages that it has not seen, piece by piece. */
async function look(signal, problems) {
  const all = chat.asked.length;
  feed.busy = true;
  try {
    while (chat.observed < all) {
      const start = Math.max(0, chat.observed - OVERLAP);
      const messages = piece(start);
      say("Finding out who talks to whom…", { done: chat.observed, of: all });
      const onWait = (seconds) =>
        say(`The server asks to wait ${count(seconds, "second")}…`, { done: chat.observed, of: all });
      const { observations } = await request("v1/addressees", { body: { messages }, signal, onWait });
      for (const observation of observations.slice(chat.observed - start)) chat.observe(observation, start);
      update();
    }
    say(problemsText(problems));
  } catch (error) {
    fail(error, () => look(signal, problems));
  } finally {
    feed.busy = false;
  }
}

function piece(start) {
  const messages = [];
  let bytes = 0;
  for (const line of chat.asked.slice(start, start + MOST)) {
    const message = messageOf(line);
    bytes += 3 * JSON.stringify(message).length; // at most, in UTF-8
    if (bytes > MOST_BYTES && start + messages.length > chat.observed) break;
    messages.push(message);
  }
  return messages;
}

function problemsText(problems) {
  if (!problems.length) return "";
  const [{ line, reason }] = problems;
  const what = problems.length === 1 ? "1 line was" : `${problems.length} lines were`;
  return `${what} left out; the first is line ${line}: ${reason}`;
}

async function openFile(file) {
  try {
    const log = await textOf(file);
    await openLog(log, file.name);
  } catch (error) {
    fail(error instanceof ApiError ? error : `${file.name} cannot be read.`);
  }
}

// -- a live channel

function openChannel(id) {
  const signal = begin();
  const channel = new Channel(id);
  enter({ chat: channel.chat, channel, name: id });
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

/** Show what has changed, at most once for each picture on the screen. */
function update() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    showNow();
  });
}

function wanted(line) {
  const { conversation, speaker, also, open } = filter;
  if (conversation === null && !speaker && !open) return true;
  if (!line.spoken) return false;
  if (conversation !== null && line.conversation !== conversation) return false;
  if (speaker && line.speaker !== speaker && !(also && line.to === speaker)) return false;
  return !open || line.open;
}

const filtered = () => filter.conversation !== null || filter.speaker !== "" || filter.open;

function showNow() {
  const lines = filtered() ? chat.lines.filter(wanted) : chat.lines;
  feed.show(lines);
  conversations.show(chat, filter.conversation);
  const shown = filtered() ? lines.length : chat.spoken.length;
  const about = [];
  if (filter.conversation) about.push(`conversation ${filter.conversation.number}`);
  if (filter.speaker) about.push(filter.also ? `${filter.speaker} and what they are told` : filter.speaker);
  if (filter.open) about.push("unanswered");
  byId("filter").textContent = filtered()
    ? `${about.join(", ")}: ${shown.toLocaleString()} of ${chat.spoken.length.toLocaleString()}`
    : "";
  byId("clear").hidden = !filtered();
  byId("only-open").checked = filter.open;
  byId("open-count").textContent = `(${chat.unanswered.toLocaleString()})`;
  byId("also").checked = filter.also;
  byId("also-field").hidden = filter.speaker === "";
  byId("newer").hidden = news === 0;
  byId("newer").textContent = `↓ ${count(news, "new message")}`;
  byId("messages").dataset.empty = String(lines.length === 0);
  showPeople();
  showTitle();
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
    source.format,
    `${source.channel?.first > 0 ? "latest " : ""}${count(chat.spoken.length, "message")}`,
    count(chat.speakers.size, "person", "people"),
    count(chat.conversations.length, "conversation"),
  ];
  byId("subtitle").textContent = parts.filter(Boolean).join(" · ");
}

function change(next) {
  filter = { ...filter, ...next };
  showNow();
}

function clear() {
  filter = noFilter();
  showNow();
}

function screen(name) {
  document.body.dataset.screen = name;
  byId("start").hidden = name !== "start";
  byId("reading").hidden = name !== "chat";
  byId("again").hidden = name !== "chat";
  byId("back").hidden = name !== "start" || source === null;
  if (name === "start") showChannels();
}

function tab(name) {
  document.body.dataset.tab = name;
  for (const button of document.querySelectorAll(".tabs button")) {
    if (button.dataset.tab === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
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

const reply = new Reply(async (responder, candidates) => {
  const body = { responder, candidates, top: 10000 }; // the table has a place for every pair
  const path = source.channel?.path("select") ?? "v1/select";
  if (!source.channel) body.messages = chat.asked.slice(-OVERLAP).map(messageOf);
  const { selections } = await request(path, { body });
  calm();
  return selections;
}, fail);

const submit = (id, act) =>
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    act();
  });

submit("open", () => openLog(byId("log").value, null));
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
    await openLog(log, name);
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
  const [file] = byId("file").files;
  if (file) openFile(file);
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
byId("speaker").addEventListener("change", () => change({ speaker: byId("speaker").value }));
byId("also").addEventListener("change", () => change({ also: byId("also").checked }));
byId("only-open").addEventListener("change", () => change({ open: byId("only-open").checked }));
byId("clear").addEventListener("click", () => {
  clear();
  feed.focus();
});
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
document.addEventListener("keydown", (event) => {
  if (
    event.key === "Escape" &&
    document.body.dataset.screen === "chat" &&
    filtered() &&
    !byId("token-dialog").open
  ) {
    clear();
  }
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
  const [file] = event.dataTransfer.files;
  const text = event.dataTransfer.getData("text/plain");
  if (file) openFile(file);
  else if (text) {
    byId("log").value = text;
    openLog(text, null);
  }
});

const linked = () => new URLSearchParams(location.hash.slice(1)).get("channel");
window.addEventListener("hashchange", () => linked() && openChannel(linked()));
if (linked()) openChannel(linked());
else screen("start");
