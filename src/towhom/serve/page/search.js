// Searching: words in any case, with or without accents, in what is said and in the names of those who say it.

const MARKS = /\p{M}/gu;

/** A text as it is compared; lower case, no accents, full width as half width. */
const fold = (text) => text.normalize("NFKD").replace(MARKS, "").toLowerCase();

/** What is looked for: words, or "several words" in a row. None if there is nothing to look for. */
export function termsOf(query) {
  const parts = query.match(/"[^"]+"|[^\s"]+/g) ?? [];
  return parts.map((part) => fold(part.replaceAll('"', "")).trim()).filter(Boolean);
}

/** Whether a line has all terms, in its text, its speaker's name or its addressee's. */
export function matches(line, terms) {
  if (!line.spoken) return false;
  line.searched ??= fold(`${line.text}\n${line.speaker}\n${line.to ?? ""}`);
  return terms.every((term) => line.searched.includes(term));
}

/** Where terms stand in a text: places of their beginnings and ends. */
function placesOf(text, terms) {
  let folded = "";
  const from = []; // a place in the folded text -> that in the text
  let place = 0;
  for (const letter of text) {
    const its = fold(letter);
    for (let count = 0; count < its.length; count += 1) from.push(place);
    folded += its;
    place += letter.length;
  }
  from.push(text.length);
  const found = [];
  for (const term of terms) {
    for (let at = folded.indexOf(term); at >= 0; at = folded.indexOf(term, at + term.length)) {
      found.push([from[at], from[at + term.length]]);
    }
  }
  return found.filter(([start, end]) => end > start).sort((a, b) => a[0] - b[0]);
}

/** Mark the terms in the texts of an element. */
export function highlight(element, terms) {
  const texts = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const node of texts) {
    let end = 0;
    const parts = [];
    for (const [from, to] of placesOf(node.data, terms)) {
      if (from < end) continue;
      const mark = document.createElement("mark");
      mark.textContent = node.data.slice(from, to);
      parts.push(node.data.slice(end, from), mark);
      end = to;
    }
    if (end) node.replaceWith(...parts, node.data.slice(end));
  }
}
