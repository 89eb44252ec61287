/** Calls each operation of stdin, [name, parameters], and prints the method, the path and the query of its request. */

import { readFileSync } from "node:fs";

import { Client } from "@messaging-gateway/client";

type Call = [name: string, args: Record<string, unknown>];

const seen: string[] = [];
const gateway = new Client({
  baseUrl: "http://gateway/api/",
  apiKey: "key",
  retries: 0,
  fetch: async (url, { method }) => {
    seen.push(`${method} ${url}`);
    return new Response("", { status: 404 });
  },
});
const methods = gateway as unknown as Record<string, (args: object) => Promise<unknown> | AsyncIterable<unknown>>;

for (const [name, args] of JSON.parse(readFileSync(0, "utf8")) as Call[]) {
  const called = methods[name]?.(args);
  try {
    if (called && Symbol.asyncIterator in called) for await (const _ of called);
    else await called;
  } catch (error) {
    if ((error as { status?: number }).status !== 404) throw error;
  }
}
process.stdout.write(JSON.stringify(seen));
