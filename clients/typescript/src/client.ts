/** Asks `towhom serve` whether a bot speaks. */
import type { components } from "./api.js";

export type GateMessage = components["schemas"]["GateMessage"];
export type GateEvent = components["schemas"]["GateEvent"];
export type GateVerdict = components["schemas"]["GateVerdict"];

type WithDefaults<Body, Defaulted extends keyof Body> = Omit<Body, Defaulted> & Partial<Pick<Body, Defaulted>>;
/** What has a default on the server need not be sent. */
export type GateQuestion =
  | (WithDefaults<Omit<GateMessage, "message" | "policy" | "bot">, "bots" | "max_tokens" | "direct"> & Parts)
  | (WithDefaults<Omit<GateEvent, "policy" | "bot">, "bots" | "max_tokens"> & Omit<Parts, "message">);
interface Parts {
  bot: Pick<components["schemas"]["GateBot"], "id"> & Partial<components["schemas"]["GateBot"]>;
  policy?: Partial<components["schemas"]["GatePolicy"]>;
  message: Partial<components["schemas"]["Message"]> & Pick<components["schemas"]["Message"], "speaker" | "text">;
}

export interface ClientOptions {
  /** Where the server is. */
  url?: string;
  /** The server's token, if it has one. */
  token?: string;
  /** Milliseconds to wait for an answer. */
  timeout?: number;
}

/** What the server refused, in its own words. */
export class GateError extends Error {
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
    this.name = "GateError";
  }
}

export class GateClient {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #timeout: number;

  constructor({ url = "http://127.0.0.1:8080", token, timeout = 5000 }: ClientOptions = {}) {
    this.#url = `${url.replace(/\/+$/, "")}/v1/gate`;
    this.#headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    this.#timeout = timeout;
  }

  /** Take the next message of a room, or a raw event of a platform; says whether the bot speaks. */
  async hear(question: GateQuestion): Promise<GateVerdict> {
    const response = await fetch(this.#url, {
      method: "POST",
      headers: this.#headers,
      body: JSON.stringify(question),
      signal: AbortSignal.timeout(this.#timeout),
    });
    const answer: unknown = await response.json();
    if (response.ok) return answer as GateVerdict;
    const { code, message } = (answer as components["schemas"]["Error"]).error;
    throw new GateError(response.status, code, message);
  }
}

/** The id of the channel that is a platform's room: what an id may not have is written as its number. */
export function channelOf(room: string): string {
  const written = [...new TextEncoder().encode(room)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[A-Za-z0-9._#@:+-]/.test(character) ? character : `~${byte.toString(16).padStart(2, "0")}`;
    })
    .join("");
  return written.slice(0, 128);
}
