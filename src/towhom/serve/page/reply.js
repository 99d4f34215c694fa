// What to say next: who speaks, what they may say, and the table of all pairs of addressee and response.

import { nameOf, percent, shorten } from "./chat.js";
import { byId, make } from "./dom.js";

const MOST_PEOPLE = 8; // in the table; the others share a row
const FEWEST = 3;

export class Reply {
  /** @param rank takes who speaks and the candidates, and resolves to the API's selections */
  constructor(rank, fail) {
    this._rank = rank;
    this._fail = fail;
    this._asked = 0;
    byId("reply-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this._ask();
    });
    byId("candidates").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("reply-form").requestSubmit();
    });
  }

  /** Forget the ranking: it was of another chat. What was typed stays. */
  reset() {
    this._asked += 1;
    byId("winner").replaceChildren();
    byId("ranking").replaceChildren();
  }

  async _ask() {
    const responder = byId("responder").value.trim();
    const candidates = byId("candidates")
      .value.split("\n")
      .map((text) => text.trim())
      .filter(Boolean);
    const empty = !responder ? "responder" : candidates.length === 0 ? "candidates" : null;
    if (empty) {
      byId(empty).focus();
      this._fail(responder ? "Type what could be said, one reply on a line." : "Say who speaks next.");
      return;
    }
    this._asked += 1;
    const asked = this._asked;
    byId("rank").disabled = true;
    try {
      const selections = await this._rank(responder, candidates);
      if (asked === this._asked) this._show(responder, candidates, selections);
    } catch (error) {
      if (asked === this._asked) this._fail(error);
    } finally {
      byId("rank").disabled = false;
    }
  }

  _show(responder, candidates, selections) {
    const best = selections[0];
    byId("winner").replaceChildren(
      make("b", {}, responder),
      " should say ",
      `“${best.response}”`,
      " to ",
      make("b", {}, nameOf(best.addressee)),
      make("span", { class: "number" }, `, ${percent(best.probability)}`),
    );
    const legend = make("ol", { class: "legend" });
    candidates.forEach((text, place) => {
      legend.append(make("li", { class: place === best.candidate ? "best" : null }, text));
    });
    const wrapper = make("div", {
      class: "table",
      tabindex: "0",
      role: "group",
      "aria-label": "Table of all pairs",
    });
    wrapper.append(this._table(candidates, selections, best));
    byId("ranking").replaceChildren(wrapper, legend);
  }

  _table(candidates, selections, best) {
    const rows = new Map();
    for (const selection of selections) {
      const row = rows.get(selection.addressee) ?? new Array(candidates.length).fill(null);
      row[selection.candidate] = selection.probability;
      rows.set(selection.addressee, row);
    }
    const sum = (values) => values.reduce((total, value) => total + (value ?? 0), 0);
    const sorted = [...rows].sort((a, b) => sum(b[1]) - sum(a[1]));
    const likely = sorted
      .filter(([, row], place) => place < FEWEST || sum(row) >= 0.01)
      .slice(0, MOST_PEOPLE);
    const shown = sorted.length === likely.length + 1 ? sorted : likely;
    const others = sorted.slice(shown.length);
    const head = make(
      "tr",
      {},
      make("th", { scope: "col", class: "corner" }, "to"),
      ...candidates.map((text, place) =>
        make(
          "th",
          { scope: "col", title: text, "aria-label": `Reply ${place + 1}: ${shorten(text, 40)}` },
          String(place + 1),
        ),
      ),
      make("th", { scope: "col", class: "all" }, "any"),
    );
    const body = shown.map(([name, row]) =>
      this._row(nameOf(name), row, (place) => name === best.addressee && place === best.candidate),
    );
    if (others.length) {
      const joined = candidates.map((_, place) => sum(others.map(([, row]) => row[place])));
      body.push(this._row(`${others.length} others`, joined, () => false));
    }
    const totals = candidates.map((_, place) => sum(sorted.map(([, row]) => row[place])));
    const foot = make(
      "tr",
      {},
      make("th", { scope: "row" }, "anybody"),
      ...totals.map((value) => make("td", {}, percent(value))),
      make("td", { class: "all" }, ""),
    );
    return make(
      "table",
      { class: "joint" },
      make("caption", { class: "hidden" }, "How likely each reply is, to each person"),
      make("thead", {}, head),
      make("tbody", {}, ...body),
      make("tfoot", {}, foot),
    );
  }

  _row(name, values, isBest) {
    const cells = values.map((value, place) => {
      const kind = isBest(place) ? "best" : value < 0.01 ? "tiny" : "";
      const cell = make(
        "td",
        {
          class: `cell ${kind}`,
          "data-to": name,
          "data-candidate": place,
          "data-probability": value?.toFixed(6),
        },
        value === null ? "–" : percent(value),
      );
      cell.style.setProperty("--p", value ?? 0);
      return cell;
    });
    const all = values.reduce((total, value) => total + (value ?? 0), 0);
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, name),
      ...cells,
      make("td", { class: "all" }, percent(all)),
    );
  }
}
