// A log that is sent to the server once; what comes back is one chat for each of its rooms.

import { ApiError, sendFile } from "./api.js";
import { Chat } from "./chat.js";

/** A log while it is looked at: its rooms, and how far that is. */
export class Log {
  constructor(name, format = "") {
    this.name = name;
    this.format = format; // as it was told; empty if the server is to find it out
    const [kind, ...options] = format.split(":");
    this.found = { format: kind, options: options.join(":") }; // of its first room
    this.assumed = ""; // what the server took for granted
    this.rooms = []; // chats, by the server's numbers
    this.done = 0;
    this.of = null; // lines; not known as long as the server reads
    this.left = null; // seconds
    this.complete = false;
    this.page = null; // the report, once it was asked for
    this.counting = false;
    this.problems = "";
  }

  /**
   * Send a file and take the answers.
   *
   * @param on what to do: `rooms()` once they are known, `progress()` whenever something has come
   */
  async open(file, signal, on) {
    await sendFile(this._path, file, { signal, onLine: (line) => this._take(line, on) });
    if (!this.complete) throw new ApiError("The server ended before the log did. Try again.");
  }

  /** The report of the log, as a page; `progress(lines)` says how far it is. */
  async report(file, signal, progress) {
    const pieces = [];
    let complete = false;
    const onLine = (line) => {
      if (line.type === "report") pieces.push(line.page);
      else if (line.type === "progress") progress(line.read);
      else if (line.type === "complete") complete = true;
      else if (line.type === "error") throw new ApiError(line.error.message, { code: line.error.code });
    };
    await sendFile(`${this._path}&report=true`, file, { signal, onLine });
    if (!complete) throw new ApiError("The server ended before the report did. Try again.");
    return new Blob(pieces, { type: "text/html" });
  }

  get _path() {
    const format = this.format ? `&format=${encodeURIComponent(this.format)}` : "";
    return `v1/logs?name=${encodeURIComponent(this.name)}${format}`;
  }

  _take(line, on) {
    if (line.type === "message") {
      this.rooms[line.room].take(line);
      this.done += 1;
    } else if (line.type === "rooms") {
      [this.done, this.of] = [0, line.lines]; // until now, it was read
      this.rooms = line.rooms.map(({ name, format, messages }) => new Chat({ name, format, expected: messages }));
      this.problems = problemsText(line);
      const [{ format, options = "" }] = line.rooms;
      this.found = { format, options };
      this.assumed = line.assumed?.[0] ?? "";
      on.rooms();
    } else if (line.type === "progress") {
      this.left = line.seconds_left;
      if (line.of === null) this.done = line.read;
    } else if (line.type === "complete") {
      this.complete = true;
    } else if (line.type === "error") {
      throw new ApiError(line.error.message, { code: line.error.code });
    }
    on.progress();
  }
}

function problemsText({ left_out: { lines, files }, problems }) {
  if (!lines && !files) return "";
  const parts = [];
  if (lines) parts.push(lines === 1 ? "1 line" : `${lines.toLocaleString()} lines`);
  if (files) parts.push(files === 1 ? "1 file" : `${files.toLocaleString()} files`);
  const were = lines + files === 1 ? "was" : "were";
  return `${parts.join(" and ")} ${were} left out; the first: ${problems[0]}`;
}

/** Seconds, as people say them. */
export function timeLeft(seconds) {
  if (seconds === null) return "";
  if (seconds < 1.5) return "about a second left";
  if (seconds < 90) return `about ${Math.ceil(seconds)} seconds left`;
  if (seconds < 5400) return `about ${Math.round(seconds / 60)} minutes left`;
  return `about ${(seconds / 3600).toFixed(1)} hours left`;
}
