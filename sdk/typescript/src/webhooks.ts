/** Verifies requests to a webhook by their Standard Webhooks signature. */

import { parsed, SignatureError } from "./errors.js";
import type { Schemas } from "./types.js";

/** Headers of `fetch`, of Node.js, or any object with them. */
export type HeaderSource = Headers | Readonly<Record<string, string | string[] | undefined>>;

export interface VerifyOptions {
  /** The most seconds between the clocks of gateway and receiver, and since the attempt. */
  toleranceSeconds?: number;
  /** The current time in milliseconds. */
  now?: number;
}

/**
 * The events of a request: one, or several with `batch`. Throws SignatureError unless it is authentic.
 *
 * `body` is the raw body, and `secret` the webhook's secret, or several: the old and the new one.
 */
export async function verifyAndParse(
  headers: HeaderSource,
  body: string | Uint8Array<ArrayBuffer> | ArrayBuffer,
  secret: string | readonly string[],
  { toleranceSeconds = 300, now = Date.now() }: VerifyOptions = {},
): Promise<Schemas["Event"][]> {
  const keys = await Promise.all([secret].flat().map(keyOf));
  const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
  const [id = "", timestamp = "", signatures = ""] = names.map((name) => headerOf(headers, name));
  const isNear = /^\d{1,12}$/.test(timestamp) && Math.abs(now / 1000 - Number(timestamp)) <= toleranceSeconds;
  if (!isNear) throw new SignatureError("The time in webhook-timestamp is too far from this clock.");
  const signed = await new Blob([`${id}.${timestamp}.`, body]).arrayBuffer();
  const pairs = keys.flatMap((key) => signatures.split(" ").map((text) => isValid(key, text, signed)));
  if (!(await Promise.all(pairs)).includes(true)) throw new SignatureError("No signature matches the body.");
  return eventsOf(await new Blob([body]).text(), id);
}

function headerOf(headers: HeaderSource, name: string): string {
  const pairs = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const value = pairs.find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value === "string" && value !== "") return value;
  throw new SignatureError(`The header ${name} is missing.`);
}

async function keyOf(secret: string): Promise<CryptoKey> {
  const bytes = base64(secret.replace(/^whsec_/, ""));
  if (!bytes?.length) throw new TypeError("The secret must be that of the webhook: whsec_ and base64.");
  return await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

/** Compares in constant time. */
async function isValid(key: CryptoKey, signature: string, signed: ArrayBuffer): Promise<boolean> {
  const bytes = signature.startsWith("v1,") ? base64(signature.slice(3)) : undefined;
  return bytes !== undefined && (await crypto.subtle.verify("HMAC", key, bytes, signed));
}

function base64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function eventsOf(text: string, id: string): Schemas["Event"][] {
  const value = parsed(text) as (Partial<Schemas["EventBatch"]> & object) | null | undefined;
  if (typeof value !== "object" || value === null) throw new SignatureError("The body is no JSON object.");
  // A gateway of release 1.0 sends no `id` in the body.
  return (value.events ?? [{ id, ...value }]) as Schemas["Event"][];
}
