// Arcs from messages to those that they are meant for, in the gutter beside the rows.

import { percent } from "./chat.js";
import { draw, set } from "./dom.js";

const LANES = 7;
const LANE = 7; // pixels
const FAR = 80; // rows; an arc that would be longer is a short marker
const MARKER = 15; // pixels
const MIDDLE = 18; // pixels from a row's top to the middle of its first line
const DOT = 12; // pixels from the gutter's right edge to the middle of a row's dot

export class Arcs {
  constructor() {
    this.svg = draw("svg", { class: "arcs", "aria-hidden": "true" });
    this.narrow = false; // whether there is only room for markers
    this._arcs = [];
    this._groups = new Map();
    this._label = draw("text", { class: "arc-label", "text-anchor": "middle" });
    this._hot = null;
    this._pointed = null;
  }

  /** Give every arc a lane: the innermost that is free since the message it goes to. */
  lay(items) {
    const until = new Array(LANES).fill(-1);
    this._arcs = [];
    for (const line of items) {
      if (!line.spoken || line.to === null) continue;
      const to = line.target && items[line.target.place] === line.target ? line.target : null;
      const far = to === null || line.place - to.place > FAR;
      let lane = 0;
      if (!far) {
        lane = until.findIndex((end) => end <= to.place);
        if (lane < 0) lane = LANES - 1;
        until[lane] = line.place;
      }
      this._arcs.push({ line, to, far, lane });
    }
  }

  /** Stress the arcs of a message; `pointed` is how far down one of them is pointed at, or null. */
  heat(line, pointed) {
    this._hot = line;
    this._pointed = pointed;
  }

  /** Draw what lies between two rows; `tops` are the heights of all. */
  draw(first, last, tops) {
    const top = tops[first] ?? 0;
    const bottom = last < first ? top : tops[last + 1];
    this.svg.style.transform = `translateY(${top}px)`;
    this.svg.style.height = `${bottom - top}px`;
    const gutter = this.svg.clientWidth;
    const place = (line) => tops[line.place] - top + MIDDLE;
    const drawn = new Set();
    // An arc that is drawn whole is not longer than so many rows.
    for (let index = this._firstFrom(first); index < this._arcs.length; index += 1) {
      const arc = this._arcs[index];
      if (arc.line.place > last + FAR) break;
      if ((arc.far ? arc.line : arc.to).place > last) continue;
      drawn.add(arc.line);
      this._drawOne(arc, gutter - DOT, place);
    }
    for (const [line, group] of this._groups) {
      if (drawn.has(line)) continue;
      group.remove();
      this._groups.delete(line);
    }
    this._drawLabel(gutter, top, place);
  }

  /** Where the arcs of rows from some place on begin, by bisection. */
  _firstFrom(place) {
    let [low, high] = [0, this._arcs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this._arcs[middle].line.place < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  _drawOne(arc, x, place) {
    const { line, to } = arc;
    const { conversation, seen } = line;
    const whole = !arc.far && (!this.narrow || line === this._hot);
    const out = this.narrow ? x - 7 : x - 11 - arc.lane * LANE;
    const { path, head } = whole ? bracket(x, out, place(line) - 3, place(to) + 3) : hook(x, place(line) - 3);
    const hot = this._hot !== null && (line === this._hot || to === this._hot);
    const colour = conversation?.number ? `c${conversation.colour}` : "alone";
    const group = this._group(line);
    set(group, {
      class: `arc ${seen.how} ${colour}${hot ? " hot" : ""}`,
      "data-from": line.position,
      "data-to": to ? to.position : null,
      "data-addressee": line.to,
      "data-how": seen.how,
      "data-confidence": seen.probability.toFixed(4),
      "data-whole": whole,
      opacity: (hot ? 1 : 0.25 + 0.65 * seen.probability).toFixed(2),
    });
    const [reach, stroke, tip] = group.children;
    set(reach, { d: path });
    set(stroke, { d: path, "stroke-width": (1 + 1.1 * seen.probability + (hot ? 0.6 : 0)).toFixed(2) });
    set(tip, { d: head });
  }

  _group(line) {
    let group = this._groups.get(line);
    if (!group) {
      const parts = ["reach", "stroke", "head"].map((name) => draw("path", { class: name }));
      group = draw("g", {}, ...parts);
      group.line = line;
      this._groups.set(line, group);
      this.svg.append(group);
    }
    return group;
  }

  _drawLabel(gutter, top, place) {
    const line = this._hot;
    const own = this._groups.has(line);
    const any = own || [...this._groups.keys()].some((other) => line !== null && other.target === line);
    this.svg.classList.toggle("has-hot", any);
    // Where there is little room, a row shows the number itself; but an arc may be pointed at far from its row.
    if (!own || (this.narrow && this._pointed === null)) {
      this._label.remove();
      return;
    }
    this._label.textContent = percent(line.seen.probability);
    const height = this._pointed === null ? place(line) : this._pointed - top;
    set(this._label, { x: gutter / 2 - 8, y: height + 4 });
    this.svg.append(this._label);
  }
}

/** From a message to one above it. */
function bracket(x, out, start, end) {
  const round = Math.max(1, Math.min(x - out - 5, (start - end) / 2, 12));
  const away = `M${x - 5} ${start}H${out + round}Q${out} ${start} ${out} ${start - round}`;
  const back = `V${end + round}Q${out} ${end} ${out + round} ${end}H${x - 7}`;
  const head = `M${x - 8} ${end - 3.4}L${x - 2.5} ${end}L${x - 8} ${end + 3.4}Z`;
  return { path: away + back, head };
}

/** A short hook upwards: whoever is meant is far away, is not shown, or has not spoken yet. */
function hook(x, start) {
  const [out, end] = [x - 8, start - MARKER];
  const path = `M${x - 5} ${start}Q${out} ${start} ${out} ${start - 4}V${end + 6}`;
  return { path, head: `M${out - 3} ${end + 7}L${out} ${end + 2}L${out + 3} ${end + 7}Z` };
}
