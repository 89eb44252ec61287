/** Parameters and results of the operations, derived from the generated types. */

import type { components } from "./generated/contract.js";
import type { Methods } from "./generated/operations.js";

export type Schemas = components["schemas"];
/** An event of the account with its position. It narrows by `event`, like the body of a webhook. */
export type StoredEvent = Schemas["Event"] & Pick<Schemas["EventRecord"], "cursor">;

export interface CallOptions {
  /** Cancels the call, which then throws the signal's reason. */
  signal?: AbortSignal;
  /** The time for the whole call with all its retries, in milliseconds. */
  timeoutMs?: number;
  /** The most retries. */
  retries?: number;
}

export type MethodName = keyof Methods;
export type Args<K extends MethodName> = NonNullable<Parameters<Methods[K]>[0]>;
export type Result<K extends MethodName> = Awaited<ReturnType<Methods[K]>>;
/** The operations that return a list in pages, and the type of their items. */
export type ListName = {
  [K in MethodName]: Args<K> extends { after?: string } ? K : never;
}[MethodName];
export type Item<K extends ListName> = Result<K> extends { data: (infer T)[] } ? T : never;
