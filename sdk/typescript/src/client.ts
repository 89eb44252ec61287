/** The client: a function for each operation, iterators over lists, and the stream of events. */

import { ApiError, ConnectionError, GatewayError, UnexpectedResponseError } from "./errors.js";
import { OPERATIONS, VERSION, type Methods, type Operation, type StreamArgs } from "./generated/operations.js";
import { attempt, pauseAfter, resultOf, sleep, type Fetch } from "./http.js";
import { blocksOf, type Block } from "./stream.js";
import type { Args, CallOptions, Item, ListName, MethodName, Result, StoredEvent } from "./types.js";

export interface Settings extends Omit<CallOptions, "signal"> {
  /** The API's address, such as `https://gateway.example.com/api`. */
  baseUrl: string;
  /** The API key. Only the operations of a signup need none. */
  apiKey?: string;
  /** The time for one attempt in milliseconds. The gateway waits up to 30 seconds for the network. */
  attemptTimeoutMs?: number;
  /** Replaces the platform's `fetch`. */
  fetch?: Fetch;
}

/** Where `follow()` keeps its position, such as a file or a row of a database. */
export interface Place {
  load(): Promise<string | undefined> | string | undefined;
  save(cursor: string): Promise<void> | void;
}

/** `retries` are failures in a row without an event. Without it there is no limit. */
export interface FollowOptions extends Omit<CallOptions, "timeoutMs"> {
  place?: Place;
  /** How long a connection may be silent, in milliseconds. The gateway sends something every 15 seconds. */
  silenceMs?: number;
  /** Is called when events may be missing. The last minutes are read again. */
  onGap?: (refusal: ApiError) => void;
}

type Cursor = string | null | undefined;
type Page<T> = { data: T[]; after?: Cursor; nextCursor?: Cursor; pagination?: { nextCursor?: Cursor } };

// Looked up at each call, so that a program can replace the global one.
const platform: Fetch = (url, init) => fetch(url, init);
const DEFAULTS = { retries: 5, attemptTimeoutMs: 45_000, timeoutMs: 120_000, fetch: platform };
const SILENCE_MS = 45_000;
// After STABLE_MS, a lost connection is no repeated failure. LONGEST_PAUSE_MS is the most of a Retry-After.
const [STABLE_MS, LONGEST_PAUSE_MS] = [10_000, 300_000];
// Identifiers to leave out known events: those of ten minutes with 160 events a second.
const REMEMBERED = 100_000;

export interface Client extends Methods {}
export class Client {
  readonly #settings: Settings & typeof DEFAULTS;

  constructor(settings: Settings) {
    this.#settings = { ...DEFAULTS, ...settings, baseUrl: settings.baseUrl.replace(/\/+$/, "") };
    const named = (name: string) => [name, this.call.bind(this, name as MethodName)] as const;
    const { streamEvents, ...others } = OPERATIONS;
    Object.assign(this, Object.fromEntries(Object.keys(others).map(named)));
  }

  /** Calls an operation by its name: `client.call("getNumber", args)` is `client.getNumber(args)`. */
  async call<K extends MethodName>(name: K, args?: Args<K>, options: CallOptions = {}): Promise<Result<K>> {
    const { result, url, init, key } = this.#request(name, args ?? {});
    const { signal, timeoutMs, retries, fetch, attemptTimeoutMs } = { ...this.#settings, ...options };
    const end = performance.now() + timeoutMs;
    const isRepeatable = key !== undefined || init.method === "GET";
    for (let failures = 0; ; failures++) {
      try {
        const limits = { signal, timeoutMs: Math.max(0, Math.min(attemptTimeoutMs, end - performance.now())) };
        const found = attempt(fetch, url, init, limits, (response) => resultOf(response, result));
        for await (const each of found) return each as Result<K>;
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        error.idempotencyKey = key;
        const pause = failures < retries ? pauseAfter(error, failures, isRepeatable) : undefined;
        if (pause === undefined || performance.now() + pause >= end) throw error;
        await sleep(pause, signal);
      }
    }
  }

  /** All items of a list, page by page: `client.each("listMessages", { numberId })`. */
  async *each<K extends ListName>(name: K, args?: Args<K>, options?: CallOptions): AsyncGenerator<Item<K>> {
    const query: { after?: string } = { limit: 100, ...args } as object;
    for (;;) {
      const page: unknown = await this.call(name, query as Args<K>, options);
      yield* (page as Page<Item<K>>).data;
      const next = nextOf(page as Page<unknown>);
      // The last page of the events has a cursor too, which stays the same.
      if (next === null || next === query.after) return;
      query.after = next;
    }
  }

  /** The events of one connection, until it ends. `follow()` connects again. */
  async *streamEvents(args: StreamArgs = {}, options: FollowOptions = {}): AsyncGenerator<StoredEvent> {
    for await (const { event } of this.#blocks(args, options)) if (event) yield event;
  }

  /**
   * The account's events as they happen, each once, also after lost connections.
   *
   * The position is saved after an event was processed: a program that is killed before gets it again.
   */
  async *follow(args: StreamArgs = {}, options: FollowOptions = {}): AsyncGenerator<StoredEvent> {
    const from: Partial<Record<keyof StreamArgs, unknown>> = { ...args };
    from.after = (await options.place?.load()) ?? args.after;
    const seen = new Set<string>();
    for (let failures = 0, opened = 0; ; failures++) {
      try {
        opened = performance.now();
        for await (const { cursor, event } of this.#blocks(from as StreamArgs, options)) {
          if (event && !seen.has(event.id)) yield event;
          if (event) [failures, from.since] = [0, remember(seen, event.id)];
          await options.place?.save((from.after = cursor));
        }
        throw new ConnectionError("the stream ended");
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        if (performance.now() - opened > STABLE_MS) failures = 0;
        const isLost = error instanceof ApiError && error.details.since !== undefined && from.after !== undefined;
        const pause = isLost ? 0 : pauseAfter(error, failures, true);
        if (pause === undefined || failures >= (options.retries ?? Infinity)) throw error;
        if (isLost) {
          [from.since, from.after] = [from.since ?? error.details.since, undefined];
          options.onGap?.(error);
        }
        await sleep(Math.min(pause, LONGEST_PAUSE_MS), options.signal);
      }
    }
  }

  #blocks(args: StreamArgs, { signal, silenceMs = SILENCE_MS }: FollowOptions): AsyncGenerator<Block> {
    const { url, init } = this.#request("streamEvents", args);
    const { fetch, attemptTimeoutMs: timeoutMs } = this.#settings;
    return attempt(fetch, url, init, { signal, timeoutMs }, (response, extend) => {
      extend(silenceMs);
      return blocksOf(response, () => extend(silenceMs));
    });
  }

  #request(name: keyof typeof OPERATIONS, args: object) {
    const [method, template, result, takesKey]: Operation = OPERATIONS[name];
    const { body, idempotencyKey = newKey(), ...rest } = args as Record<string, unknown>;
    const key = takesKey ? String(idempotencyKey) : undefined;
    const path = template.replace(/\{(\w+)\}/g, (_, part: string) => {
      const value = rest[part];
      delete rest[part];
      if (typeof value !== "string" || value === "") throw new TypeError(`${name} needs ${part}.`);
      return encodeURIComponent(value);
    });
    const headers = new Headers(key === undefined ? {} : { "Idempotency-Key": key });
    if (this.#settings.apiKey) headers.set("Authorization", `Bearer ${this.#settings.apiKey}`);
    // Browsers send their own name.
    if (!("document" in globalThis)) headers.set("User-Agent", `messaging-gateway-client-typescript/${VERSION}`);
    const init: RequestInit = { method, headers };
    if (body !== undefined) init.body = bodyOf(body as object, headers);
    return { result, url: `${this.#settings.baseUrl}${path}${queryOf(rest)}`, init, key };
  }
}

function nextOf(page: Page<unknown>): string | null {
  const next = page.pagination ? page.pagination.nextCursor : "nextCursor" in page ? page.nextCursor : page.after;
  if (next !== undefined) return next;
  throw new UnexpectedResponseError("The list has no cursor: the gateway is older than this client.");
}

function remember(seen: Set<string>, id: string): undefined {
  seen.add(id);
  if (seen.size > REMEMBERED) for (const oldest of seen) return void seen.delete(oldest);
}

/** Not `randomUUID`, which browsers have only on pages with TLS. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bodyOf(body: object, headers: Headers): BodyInit {
  const form = new FormData();
  if ("file" in body && body.file instanceof Blob) form.append("file", body.file);
  if (form.has("file")) return form;
  headers.set("Content-Type", "application/json");
  return JSON.stringify(body);
}

function queryOf(parameters: Record<string, unknown>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query && `?${query}`;
}
