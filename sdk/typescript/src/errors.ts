/** The errors of all calls. Each is a `GatewayError`, except the reason of the caller's own `AbortSignal`. */

import type { Schemas } from "./types.js";

interface Answer {
  /** The HTTP status, 0 if there was no response. */
  status: number;
  details: NonNullable<Schemas["ErrorBody"]["details"]>;
  /** The response's `X-Request-Id`, for the gateway's operator. */
  requestId: string | undefined;
  /** The pause that the gateway asked for, in seconds. */
  retryAfter: number | undefined;
  /** Whether the gateway returned the stored outcome of an earlier request with the same key. */
  replayed: boolean;
}

export interface GatewayError extends Readonly<Answer> {}
export class GatewayError extends Error {
  override readonly name: string = "GatewayError";
  /** The key of the request. A call with the same key is safe, even if this one may have been done. */
  idempotencyKey: string | undefined;

  /** `code` is a code of the contract, or that of the subclass. */
  constructor(readonly code: string, message: string, answer: Partial<Answer> = {}, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    Object.assign(this, { status: 0, details: {}, replayed: false }, answer);
  }
}

/** The gateway refused the request. `code`, `message` and `details` are those of the contract. */
export class ApiError extends GatewayError {
  override readonly name = "ApiError";
}

/** The response is not one of the contract: that of a proxy, or a broken one. */
export class UnexpectedResponseError extends GatewayError {
  override readonly name = "UnexpectedResponseError";

  constructor(message: string, answer?: Partial<Answer>) {
    super("UNEXPECTED_RESPONSE", message, answer);
  }
}

/** There was no complete response. Without a key, the request may have been done, unless `notSent` is true. */
export class ConnectionError extends GatewayError {
  override readonly name = "ConnectionError";
  readonly notSent: boolean;

  constructor(cause: unknown) {
    const reason = reasonOf(cause);
    super("CONNECTION_LOST", `There was no complete response: ${reason}.`, {}, cause);
    this.notSent = NOT_SENT.has(reason);
  }
}

/** The time was over before a complete response. Without a key, the request may have been done. */
export class TimeoutError extends GatewayError {
  override readonly name = "TimeoutError";

  constructor(timeoutMs: number) {
    super("TIMED_OUT", `There was no complete response within ${Math.round(timeoutMs)} ms.`);
  }
}

/** The request to a webhook is not authentic, or too old. Answer it with 401. */
export class SignatureError extends GatewayError {
  override readonly name = "SignatureError";

  constructor(message: string) {
    super("BAD_SIGNATURE", message);
  }
}

// Codes of Node.js before a connection exists. Other platforms do not tell, so nothing is repeated there.
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

/** The system's code or text, which `fetch` hides in a chain of causes. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}

/** The error of a response that is no success. */
export async function failureOf(response: Response): Promise<GatewayError> {
  // A body that is cut off does not hide the status.
  const text = await response.text().catch(() => "");
  const { error } = (parsed(text) ?? {}) as Partial<Schemas["ErrorResponse"]>;
  if (typeof error?.code !== "string" || typeof error.message !== "string") {
    return unexpected(response, "no error of the gateway");
  }
  return new ApiError(error.code, error.message, { ...answerOf(response), details: error.details ?? {} });
}

export function unexpected(response: Response, what: string): UnexpectedResponseError {
  const text = `The response with status ${response.status} has ${what}. Compare the address with the gateway's.`;
  return new UnexpectedResponseError(text, answerOf(response));
}

function answerOf({ status, headers }: Response): Partial<Answer> {
  return {
    status,
    requestId: headers.get("X-Request-Id") ?? undefined,
    retryAfter: secondsOf(headers.get("Retry-After") ?? ""),
    replayed: headers.get("Idempotency-Replayed") === "true",
  };
}

/** A `Retry-After` in seconds. A proxy can send a date. */
function secondsOf(header: string): number | undefined {
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000);
}

/** JSON, undefined if it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
