// Reading a log of any length: the server takes so many lines at a time.

import { ApiError, request } from "./api.js";

const MOST_LINES = 2000;
const MOST_BYTES = 1_500_000;
const LOOK_BACK = 100;
const DAY = 86_400_000;
// What a line begins with, unless it goes on with the one before.
const BEGINS = /^[\[({<*#=\d-]/;

/** The messages of a log, its format, and the lines that could not be read. */
export async function readLog(log, name, { signal, onPart }) {
  const parts = split(log);
  const all = { format: null, messages: [], problems: [] };
  let lines = 0;
  for (const [place, part] of parts.entries()) {
    onPart(place, parts.length);
    // A date in the file's name is that of its first line.
    const body = { log: part, name: place === 0 ? name : null };
    const { format, messages, problems } = await request("v1/read", { body, signal });
    goOn(messages, all.messages[all.messages.length - 1]?.time);
    all.format ??= format;
    for (const message of messages) all.messages.push(message);
    for (const { line, reason } of problems) all.problems.push({ line: line + lines, reason });
    lines += part.split("\n").length - 1;
  }
  return all;
}

/** The text of a file; gzip is unpacked, and UTF-16, which some phones export, is understood. */
export async function textOf(file) {
  const start = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  const [a, b] = start;
  if (a === 0x50 && b === 0x4b) {
    throw new ApiError(`${file.name} is a zip archive. Unpack it, and drop the files in it one at a time.`);
  }
  let stream = file.stream();
  if (a === 0x1f && b === 0x8b) stream = stream.pipeThrough(new DecompressionStream("gzip"));
  const bytes = await new Response(stream).arrayBuffer();
  const encoding = a === 0xff && b === 0xfe ? "utf-16le" : a === 0xfe && b === 0xff ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}

/** A log in parts that end where a line ends; an export that is one JSON value stays whole. */
export function split(log) {
  const lines = log.split(/(?<=\n)/);
  if (isOneValue(lines)) return [log];
  const parts = [];
  let start = 0;
  while (start < lines.length) {
    let end = start;
    let bytes = 0;
    while (end < lines.length && end - start < MOST_LINES && bytes + 3 * lines[end].length < MOST_BYTES) {
      bytes += 3 * lines[end].length; // at most, in UTF-8
      end += 1;
    }
    end = Math.max(end, start + 1);
    // A message of several lines is not cut in two, if its beginning can be found.
    for (let back = end; end < lines.length && back > Math.max(start, end - LOOK_BACK); back -= 1) {
      if (BEGINS.test(lines[back])) {
        end = back;
        break;
      }
    }
    parts.push(lines.slice(start, end).join(""));
    start = end;
  }
  return parts;
}

function isOneValue(lines) {
  const first = lines.find((line) => line.trim())?.trim() ?? "";
  if (/^(\{|\[)$/.test(first) || /^\[\s*[{"]/.test(first)) return true;
  if (!first.startsWith("{")) return false;
  try {
    JSON.parse(first); // JSON lines; or all of it, on one line
    return lines.length === 1;
  } catch {
    return true;
  }
}

/** Where a part does not say the day, and so begins in the year 1, it goes on from the time before it. */
function goOn(messages, last) {
  const undated = (message) => message.time?.startsWith("0001-");
  const first = messages.find((message) => message.time);
  if (!last || !first || !undated(first)) return;
  const over = first.time.slice(11) < last.slice(11, 19) ? DAY : 0;
  const shift = Date.parse(last.slice(0, 10)) + over - Date.parse("0001-01-01");
  for (const message of messages.filter(undated)) {
    const day = new Date(Date.parse(message.time.slice(0, 10)) + shift);
    message.time = day.toISOString().slice(0, 10) + message.time.slice(10);
  }
}
