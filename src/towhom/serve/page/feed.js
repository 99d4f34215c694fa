// The messages: only rows near what is in sight exist, with the arcs between them. Keyboard and pointer.

import { Arcs } from "./arcs.js";
import { dayName, nameOf, percent, whenOf } from "./chat.js";
import { make, set } from "./dom.js";
import { writeRow } from "./rows.js";

const OVERSCAN = 500; // pixels above and below what is in sight
const NARROW = 640; // pixels: below, a name stands above its text; as in the style sheet
const MOST_NAMES = 280; // pixels that names get beside their texts
const NAME_GAP = 6; // pixels; as in the style sheet
const EDGE = 8; // pixels above the first row and below the last

export class Feed {
  /**
   * @param scroller the element that scrolls
   * @param on what to do: `conversation(line)`, `speaker(name)`, `clear()`, `announce(text)`, `end(atEnd)`
   */
  constructor(scroller, on) {
    this.scroller = scroller;
    this.on = on;
    this.items = [];
    this.atEnd = false; // whether to stay at the end when messages come in
    this._arcs = new Arcs();
    this._rows = new Map();
    this._tops = [EDGE];
    this._heights = [];
    this._active = null;
    this._hot = null;
    this._pointed = null; // how far down an arc is pointed at
    this._width = 0;
    this._names = 0; // pixels that names need, of those that were shown
    this._terms = [];
    this._textWidth = 0;
    this._frame = 0;
    this._canvas = make("div", { class: "canvas", role: "feed", "aria-label": "Messages" });
    this._canvas.append(this._arcs.svg);
    scroller.replaceChildren(this._canvas);
    scroller.addEventListener("scroll", () => this._scrolled(), { passive: true });
    this._canvas.addEventListener("click", (event) => this._click(event));
    this._canvas.addEventListener("focusin", (event) => this._focused(event));
    this._canvas.addEventListener("pointerover", (event) => this._over(event));
    scroller.addEventListener("pointerleave", () => this._heat(null));
    new ResizeObserver(() => this._resized()).observe(scroller);
  }

  /** Begin anew, for another chat: at its end, or at its start. */
  reset({ atEnd }) {
    this._active = null;
    this._names = 0;
    this.scroller.style.removeProperty("--who");
    this.show([]);
    this.atEnd = atEnd;
    this.scroller.scrollTop = 0;
  }

  /** Show these lines; what the reader was at stays where it was, if it is still among them. */
  show(lines, terms = []) {
    this._terms = terms;
    const anchor = this._anchor(lines);
    this.items = withDays(lines);
    this.items.forEach((item, index) => (item.place = index));
    const gone = (item) => item !== null && this.items[item.place] !== item;
    if (gone(this._active)) this._active = null;
    if (gone(this._hot)) {
      this._hot = this._pointed = null;
      this._arcs.heat(null, null);
    }
    for (const item of [...this._rows.keys()]) if (this.items[item.place] !== item) this._drop(item);
    this._arcs.lay(this.items);
    this._estimate();
    this._render(anchor);
  }

  set busy(busy) {
    this._canvas.setAttribute("aria-busy", String(busy));
  }

  /** Put the keyboard on the row that had it last, or the first in sight. */
  focus() {
    const item = this._active ?? this.items.find((each, index) => this._inSight(index) && !each.isDay);
    if (item) this.goTo(item);
  }

  /** Put the keyboard on a row, and bring it into sight. */
  goTo(item, { middle = false } = {}) {
    if (this.items[item.place] !== item) return;
    this._activate(item);
    this._reveal(item.place, middle);
    this._rows.get(item)?.focus({ preventScroll: true });
  }

  toEnd() {
    this.atEnd = true;
    this._render(null);
  }

  // -- heights and places

  _anchor(lines) {
    if (this.atEnd || !this.items.length) return null;
    const top = this.scroller.scrollTop;
    const set = lines === this.items ? null : new Set(lines);
    const kept = (item) => set === null || set.has(item);
    const focused = this._active && this._inSight(this._active.place) ? this._active : null;
    if (focused && kept(focused)) return { item: focused, offset: this._tops[focused.place] - top };
    const first = this._indexAt(top);
    for (let index = first; index < this.items.length; index += 1) {
      const item = this.items[index];
      if (kept(item)) return { item, offset: this._tops[index] - top };
    }
    return lines.length ? { item: lines[lines.length - 1], offset: 0 } : null;
  }

  _inSight(index) {
    const top = this.scroller.scrollTop;
    return this._tops[index + 1] > top && this._tops[index] < top + this.scroller.clientHeight;
  }

  /** The row at a height, by bisection. */
  _indexAt(y) {
    let low = 0;
    let high = this.items.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this._tops[middle + 1] > y) high = middle;
      else low = middle + 1;
    }
    return Math.max(low, 0);
  }

  _guess(item) {
    if (item.height && item.heightAt === this._layout) return item.height;
    const width = this._textWidth || this.scroller.clientWidth * 0.6 || 400;
    const lines = Math.max(1, Math.ceil(((item.text?.length ?? 0) * 7.2) / width));
    return (this._arcs.narrow ? 42 : 14) + 22 * lines;
  }

  /** What heights depend on. */
  get _layout() {
    return this._width * 1000 + this._names;
  }

  _estimate() {
    this._width = this.scroller.clientWidth;
    this._arcs.narrow = this._width < NARROW;
    this._heights = this.items.map((item) => this._guess(item));
    this._sum(0);
  }

  _sum(from) {
    this._tops.length = this.items.length + 1;
    this._tops[0] = EDGE;
    for (let index = from; index < this.items.length; index += 1) {
      this._tops[index + 1] = this._tops[index] + this._heights[index];
    }
  }

  _resized() {
    if (this.scroller.clientWidth === 0) return;
    const anchor = this._anchor(this.items);
    if (this.scroller.clientWidth !== this._width) this._estimate();
    this._render(anchor);
  }

  _scrolled() {
    if (!this.items.length) return;
    const { scrollTop, clientHeight } = this.scroller;
    this.atEnd = this._total - scrollTop - clientHeight < 24;
    this.on.end(this.atEnd);
    if (!this._frame) {
      this._frame = requestAnimationFrame(() => {
        this._frame = 0;
        this._render(this._anchor(this.items));
      });
    }
  }

  get _total() {
    return this._tops[this.items.length] + EDGE;
  }

  _reveal(index, middle) {
    const { scroller } = this;
    const room = scroller.clientHeight;
    const margin = Math.min(72, room / 4);
    for (let round = 0; round < 3; round += 1) {
      const [top, bottom] = [this._tops[index], this._tops[index + 1]];
      const before = scroller.scrollTop;
      const seen = top >= before + margin && bottom <= before + room - margin;
      if (middle && !seen) scroller.scrollTop = top - (room - (bottom - top)) / 2;
      else if (top < before + margin) scroller.scrollTop = top - margin;
      else if (bottom > before + room - margin) scroller.scrollTop = bottom - room + margin;
      this.atEnd = this._total - scroller.scrollTop - room < 24;
      const offset = this._tops[index] - scroller.scrollTop;
      this._render({ item: this.items[index], offset });
      if (scroller.scrollTop === before) break;
    }
  }

  // -- rows

  /** Make the rows near what is in sight; what they really measure moves the others, not the anchor. */
  _render(anchor) {
    const { scroller } = this;
    if (!this.items.length) {
      for (const item of [...this._rows.keys()]) this._drop(item);
      this._canvas.style.height = "0";
      this._arcs.draw(0, -1, this._tops);
      return;
    }
    let first = 0;
    let last = 0;
    for (let round = 0; round < 4; round += 1) {
      this._canvas.style.height = `${this._total}px`;
      this._hold(anchor);
      const top = scroller.scrollTop;
      first = this._indexAt(top - OVERSCAN);
      last = this._indexAt(top + scroller.clientHeight + OVERSCAN);
      this._fill(first, last);
      if (!this._measure(first, last)) break;
    }
    this._canvas.style.height = `${this._total}px`;
    this._hold(anchor);
    for (const [item, row] of this._rows) row.style.transform = `translateY(${this._tops[item.place]}px)`;
    this._arcs.draw(first, last, this._tops);
  }

  _hold(anchor) {
    const { scroller } = this;
    let top = scroller.scrollTop;
    if (this.atEnd) top = this._total - scroller.clientHeight;
    else if (anchor) top = this._tops[anchor.item.place] - anchor.offset;
    if (Math.abs(top - scroller.scrollTop) > 0.5) scroller.scrollTop = top;
  }

  _fill(first, last) {
    const wanted = this.items.slice(first, last + 1);
    // The row with the keyboard stays, wherever it is: without it the focus would be lost.
    const { _active: active } = this;
    if (active && active.place < first) wanted.unshift(active);
    if (active && active.place > last) wanted.push(active);
    const keep = new Set(wanted);
    for (const item of [...this._rows.keys()]) if (!keep.has(item)) this._drop(item);
    let before = this._arcs.svg.nextSibling;
    for (const item of wanted) {
      let row = this._rows.get(item);
      if (!row) {
        row = make("article", { class: "line", tabindex: "-1" });
        row.line = item;
        this._rows.set(item, row);
      }
      if (row === before) before = row.nextSibling;
      else this._canvas.insertBefore(row, before);
      this._write(row, item);
    }
    const start = active ?? wanted.find((item) => !item.isDay && this._inSight(item.place));
    for (const [item, row] of this._rows) row.tabIndex = item === start ? 0 : -1;
  }

  _drop(item) {
    this._rows.get(item)?.remove();
    this._rows.delete(item);
  }

  /** Give names the room that they need, up to a part of the width; whether that has changed. */
  _widen() {
    if (this._arcs.narrow) return false;
    const most = Math.round(Math.min(MOST_NAMES, this._width * 0.32));
    let needed = this._names;
    for (const row of this._rows.values()) {
      if (!row.who) continue;
      const parts = row.who.querySelectorAll(".speaker, .arrow, .name");
      row.needs ??= [...parts].reduce((sum, each) => sum + each.scrollWidth + NAME_GAP, 0);
      needed = Math.max(needed, Math.min(row.needs, most));
    }
    if (needed <= this._names) return false;
    this._names = needed;
    this.scroller.style.setProperty("--who", `${needed}px`);
    return true;
  }

  _measure(first, last) {
    if (this._widen()) this._estimate();
    let changed = null;
    for (let index = first; index <= last; index += 1) {
      const item = this.items[index];
      const height = this._rows.get(item).offsetHeight;
      item.height = height;
      item.heightAt = this._layout;
      if (Math.abs(height - this._heights[index]) > 0.5) {
        this._heights[index] = height;
        changed ??= index;
      }
    }
    const text = this._canvas.querySelector(".text");
    if (text) this._textWidth = text.offsetWidth;
    if (changed === null) return false;
    this._sum(changed);
    return true;
  }

  _write(row, item) {
    const size = this.items.length;
    const content = `${item.version}/${item.opened}/${this._terms.join(" ")}`;
    const state = `${content}/${item.place}/${size}`;
    if (row.state === state) return;
    const same = row.content === content;
    row.state = state;
    row.content = content;
    set(row, { "aria-posinset": item.place + 1, "aria-setsize": size });
    if (same) return;
    writeRow(row, item, this._terms);
    row.who = row.querySelector(".who");
    row.needs = null;
  }

  /** Stress a message and its arcs: what is pointed at, else what has the keyboard. */
  _heat(line, pointed = null) {
    const focused =
      this._canvas.contains(document.activeElement) && this._active?.spoken ? this._active : null;
    const hot = line ?? focused;
    if (hot === this._hot && pointed === this._pointed) return;
    this._hot = hot;
    this._pointed = pointed;
    for (const [item, row] of this._rows) {
      row.classList.toggle("hot", item === hot);
      row.classList.toggle("aim", hot !== null && hot.target === item);
    }
    this._arcs.heat(hot, pointed);
    if (!this.items.length) return;
    const top = this.scroller.scrollTop;
    const last = this._indexAt(top + this.scroller.clientHeight + OVERSCAN);
    this._arcs.draw(this._indexAt(top - OVERSCAN), last, this._tops);
  }

  _over(event) {
    const arc = event.target.closest(".arc");
    const row = event.target.closest(".message");
    const y = event.clientY - this._canvas.getBoundingClientRect().top;
    if (arc) this._heat(arc.line, Math.round(y));
    else this._heat(row?.line ?? null);
  }

  // -- keyboard and pointer

  _activate(item) {
    this._active = item;
    this._heat(item.spoken ? item : null);
    for (const [each, row] of this._rows) row.tabIndex = each === item ? 0 : -1;
  }

  _focused(event) {
    const row = event.target.closest(".line");
    if (row && row.line !== this._active) this._activate(row.line);
    else if (row) this._heat(row.line.spoken ? row.line : null);
  }

  _click(event) {
    const row = event.target.closest(".line") ?? this._rows.get(event.target.closest(".arc")?.line);
    if (!row) return;
    const { line } = row;
    const button = event.target.closest("button");
    if (button?.dataset.jump) this._jump(line, Number(button.dataset.jump));
    else if (button?.dataset.act === "conversation") this.on.conversation(line);
    else if (event.target.closest(".speaker")) this.on.speaker(line.speaker);
    else if (!event.target.closest(".details") && line.spoken && String(getSelection()) === "")
      this._toggle(line);
  }

  _jump(line, position) {
    const target = [line.target, ...line.answers].find((other) => other?.position === position);
    if (this.items[target.place] !== target) this.on.clear();
    this.goTo(target, { middle: true });
  }

  _toggle(line) {
    line.opened = !line.opened;
    this.atEnd = this.atEnd && !line.opened;
    this._activate(line);
    this._render(this._anchor(this.items));
    const row = this._rows.get(line);
    if (!row.contains(document.activeElement)) row.focus({ preventScroll: true });
    this._reveal(line.place, false);
    if (line.opened && line.seen) {
      const { reason, probability } = line.seen;
      this.on.announce(`To ${nameOf(line.to)}, ${percent(probability)}: ${reason}.`);
    }
  }

  /** Do what a key says, to the row that has the keyboard or would get it; whether it says anything. */
  key(key) {
    const inSight = (each, index) => this._inSight(index) && !each.isDay;
    const line = this._active ?? this.items.find(inSight);
    if (!line) return false;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / 60));
    const steps = {
      ArrowDown: 1,
      j: 1,
      ArrowUp: -1,
      k: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    if (key in steps) this._step(line, this._active ? steps[key] : steps[key] === 1 ? 0 : steps[key]);
    else if ((key === "Enter" || key === " ") && line.spoken) this._toggle(line);
    else if (key === "ArrowLeft" && line.target) this._jump(line, line.target.position);
    else if (key === "c" && line.conversation?.number) this.on.conversation(line);
    else if (key === "s" && line.spoken) this.on.speaker(line.speaker);
    else if (key === "Escape" && line.opened) this._toggle(line);
    else return false;
    return true;
  }

  _step(line, by) {
    if (this.items.length === 0) return;
    let place = Math.min(Math.max(line.place + by, 0), this.items.length - 1);
    if (this.items[place].isDay) place += by < 0 && place > 0 ? -1 : 1; // a line stands on either side
    this.goTo(this.items[place]);
  }
}

/** Lines with a heading where a new day begins. */
function withDays(lines) {
  const items = [];
  let day = null;
  for (const line of lines) {
    line.when ??= whenOf(line.time);
    const its = line.when.day;
    if (its && its !== day) {
      day = its;
      line.heading ??= { isDay: true, name: dayName(its), version: 0 };
      if (line.heading.name) items.push(line.heading);
    }
    items.push(line);
  }
  return items;
}
