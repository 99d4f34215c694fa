// How a log is written, where the server does not find it out or is wrong: the dialog that asks for it.

import { request } from "./api.js";
import { byId, make } from "./dom.js";

const HEAD = 3000; // bytes of the file that are looked at
const LINES = 6;
const HINT = / \([^()]*--[^()]*\)$/; // what the command line takes
const OPTIONS = { pattern: "format-pattern", table: "format-columns" }; // format -> the field of what it takes

let formats = null;

/**
 * Ask how a log is written; what the server takes as its format, or null if nobody says.
 *
 * @param why what is wrong, or what was found out
 * @param known the format and its options, as far as they are known
 */
export async function askFormat(file, why, known = { format: "", options: "" }) {
  formats ??= (await request("v1/formats")).formats;
  byId("format-why").textContent = why;
  const choice = byId("format-choice");
  choice.replaceChildren(
    make("option", { value: "" }, "found by looking"),
    ...formats.map(({ name, title }) => make("option", { value: name }, `${name}: ${title.replace(HINT, "")}`)),
  );
  choice.value = known.format;
  for (const [format, id] of Object.entries(OPTIONS)) {
    byId(id).value = format === known.format ? known.options : "";
  }
  const lines = await firstLines(file);
  byId("format-lines").textContent = lines;
  byId("format-lines").hidden = lines === "";
  showFields();
  const dialog = byId("format-dialog");
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  if (dialog.returnValue !== "ok") return null;
  const field = OPTIONS[choice.value];
  const told = field ? byId(field).value.trim() : "";
  return told ? `${choice.value}:${told}` : choice.value;
}

/** The beginning of a file, if it is a text. */
async function firstLines(file) {
  const text = await file.slice(0, HEAD).text();
  if (/[\u0000-\u0008]|\ufffd{2}/.test(text)) return "";
  return text.split("\n").slice(0, LINES).join("\n").trimEnd();
}

function showFields() {
  for (const [format, id] of Object.entries(OPTIONS)) {
    byId(id).parentElement.hidden = byId("format-choice").value !== format;
  }
}

byId("format-choice").addEventListener("change", showFields);
