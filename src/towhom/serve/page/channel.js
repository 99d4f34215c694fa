// A live channel: what was said in it, what comes in, and saying something oneself.

import { follow, freshKey, request } from "./api.js";
import { Chat } from "./chat.js";

const LATEST = 5000; // messages of its history that are fetched
const PAGE = 500; // of them in a request

export class Channel {
  constructor(id) {
    this.id = id;
    this.chat = new Chat({ name: id });
    this._nudge = { now() {} };
    this._unsent = null; // sent again under the same key, a message arrives once
  }

  /** The address of one of its parts. */
  path(what) {
    return `v1/channels/${encodeURIComponent(this.id)}/${what}`;
  }

  /**
   * Fetch what was said, then follow.
   *
   * @param on what to do: `fetched()` with each page of history, `message(line)`, `replaced()` when the
   * channel has another history, `state(name, why)` as in `follow`
   */
  async open(signal, on) {
    try {
      await this._fetch(signal, on);
    } catch (error) {
      if (signal.aborted) return;
      if (error.status !== 404) {
        on.state("stopped", error);
        return;
      }
    }
    await follow(this.path("events"), {
      last: () => (this.chat.first === null ? -1 : this.chat.first + this.chat.all.length - 1),
      signal,
      nudge: this._nudge,
      onState: on.state,
      onEvent: (observation) => this._hear(observation, on),
    });
  }

  /** Say something; what could not be sent can be sent again. */
  async say(speaker, text) {
    if (this._unsent?.message.speaker !== speaker || this._unsent.message.text !== text) {
      const message = { speaker, text, addressee: null, time: new Date().toISOString(), id: null };
      this._unsent = { message, key: freshKey() };
    }
    const { message, key } = this._unsent;
    await request(this.path("messages"), { body: { message }, headers: { "Idempotency-Key": key } });
    this._unsent = null;
    this._nudge.now(); // the channel may have been waited for
  }

  async _fetch(signal, on) {
    const page = (limit, after) =>
      request(`${this.path("messages")}?limit=${limit}&after=${after}`, { signal });
    let after = await beforeLatest(async (number) => (await page(1, number)).observations.length > 0);
    do {
      const { observations, next } = await page(PAGE, after);
      for (const observation of observations) this._take(observation);
      on.fetched();
      after = next;
    } while (after !== null);
  }

  _take(observation) {
    const line = this.chat.take(observation);
    line.sent = JSON.stringify(observation.message);
    return line;
  }

  _hear(observation, on) {
    const { first, all } = this.chat;
    const place = first === null ? 0 : observation.number - first;
    if (place === all.length) on.message(this._take(observation));
    // What is known already is passed over, unless it was something else.
    else if (all[place]?.sent !== JSON.stringify(observation.message)) on.replaced();
  }
}

/** The number after which the latest messages begin: all of a channel that is years old would be too much. */
async function beforeLatest(isAnyAfter) {
  let [some, none] = [-1, LATEST];
  while (await isAnyAfter(none)) [some, none] = [none, 2 * none];
  while (some >= 0 && none - some > PAGE) {
    const middle = (some + none) >> 1;
    if (await isAnyAfter(middle)) some = middle;
    else none = middle;
  }
  return Math.max(-1, some - LATEST);
}
