/** One request with its time-out, the rules for retries, and the bodies of the contract. */

import { ConnectionError, failureOf, GatewayError, parsed, TimeoutError, unexpected } from "./errors.js";
import type { Operation } from "./generated/operations.js";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
type Items<T> = AsyncGenerator<T, void, undefined>;

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]);

/**
 * One attempt. Yields the items that `read` finds in the response, whose `extend` starts the time-out again.
 *
 * Throws a GatewayError, or the reason of the caller's signal.
 */
export async function* attempt<T>(
  fetch: Fetch,
  url: string,
  init: RequestInit,
  limits: { signal: AbortSignal | undefined; timeoutMs: number },
  read: (response: Response, extend: (timeoutMs: number) => void) => Items<T>,
): Items<T> {
  const controller = new AbortController();
  const cancel = (): void => controller.abort();
  let { signal, timeoutMs } = limits;
  let timer = setTimeout(cancel, timeoutMs);
  const extend = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(cancel, (timeoutMs = ms));
  };
  signal?.addEventListener("abort", cancel);
  try {
    signal?.throwIfAborted();
    // A redirect could lead the key to another host.
    const response = await fetch(url, { ...init, signal: controller.signal, redirect: "manual" });
    if (!response.ok) throw await failureOf(response);
    yield* read(response, extend);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof GatewayError) throw error;
    throw controller.signal.aborted ? new TimeoutError(timeoutMs) : new ConnectionError(error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
    // Closes the connection of a response that was not read to its end.
    cancel();
  }
}

/** The pause before a retry in milliseconds, undefined if a retry is useless or could do something twice. */
export function pauseAfter(error: GatewayError, failures: number, isRepeatable: boolean): number | undefined {
  const wait = Math.max(backOff(failures), (error.retryAfter ?? 0) * 1000);
  const isTimed = error.retryAfter !== undefined;
  // The stored response to a key stays the same.
  if (error.replayed) return undefined;
  // The gateway did nothing, and says when to come again.
  if (isTimed && (error.status === 429 || error.status === 503)) return wait;
  if (error instanceof ConnectionError && error.notSent) return wait;
  if (!isRepeatable) return undefined;
  // Below 400: there was no response, or a broken one. 409: the first request with this key is still running.
  const canPass = error.status < 400 || PASSING.has(error.status) || (isTimed && error.status === 409);
  return canPass ? wait : undefined;
}

/** A random pause that grows with each failure. */
function backOff(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
}

/** Waits. Throws the signal's reason when it is aborted. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = (): void => (clearTimeout(timer), reject(signal?.reason as Error));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", cancel), resolve()), ms);
    signal?.addEventListener("abort", cancel);
    if (signal?.aborted) cancel();
  });
}

/** The result in a response of success. Throws UnexpectedResponseError if it is not that of the contract. */
export async function* resultOf(response: Response, result: Operation[2]): Items<unknown> {
  const type = response.headers.get("Content-Type") ?? "";
  if (result === "none" && response.status === 204) yield undefined;
  else if (result === "json" && /^application\/json\b/i.test(type)) yield await jsonOf(response);
  else if (result === "text" && /^text\/csv\b/i.test(type)) yield await response.text();
  else if (result === "file" && response.headers.has("Content-Disposition")) yield await fileOf(response, type);
  else throw unexpected(response, `the content type ${JSON.stringify(type)}`);
}

async function jsonOf(response: Response): Promise<object> {
  const value = parsed(await response.text());
  if (typeof value !== "object" || value === null) throw unexpected(response, "a body that is no JSON object");
  return value;
}

/** A file with the name that the gateway gives it. */
async function fileOf(response: Response, type: string): Promise<File> {
  const header = response.headers.get("Content-Disposition") ?? "";
  const encoded = /filename\*=UTF-8''([\w%.!#$&+^`|~-]*)/i.exec(header)?.[1];
  const plain = /filename="((?:[^"\\]|\\.)*)"/i.exec(header)?.[1]?.replace(/\\(.)/g, "$1");
  const name = encoded ? decodeURIComponent(encoded) : plain;
  return new File([await response.blob()], name ?? "file", { type });
}
