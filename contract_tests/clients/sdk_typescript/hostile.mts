/**
 * Calls a hostile server: stdin has [seed, task] for each call, stdout one line for each.
 *
 * A line has the seed, the outcome and its time in milliseconds. See contract_tests/clients/hostile.py.
 */

import { readFileSync } from "node:fs";

import { Client, GatewayError } from "@messaging-gateway/client";

const AT_ONCE = 32;
const TIMEOUT_MS = 2500;
const limits = { timeoutMs: TIMEOUT_MS, attemptTimeoutMs: 200, retries: 30 };
const body = { number_id: "num_1", to: "15551234567", type: "text", text: { body: "Hello" } } as const;

type Task = (client: Client, seed: string) => Promise<unknown>;
const TASKS: Record<string, Task> = {
  get: (client) => client.getNumber({ number_id: "num_1" }),
  send: (client) => client.sendMessage({ body }),
  test: (client) => client.testWebhook({ webhook_id: "wh_1", body: { event: "message.sent" } }),
  block: (client) => client.blockPeople({ number_id: "num_1", body: { people: ["15551234567"] } }),
  delete: (client) => client.deleteWebhook({ webhook_id: "wh_1" }),
  download: async (client) => await (await client.downloadMedia({ message_id: "msg_1" })).text(),
  list: async (client) => {
    const ids: string[] = [];
    for await (const { id } of client.each("listMessages")) ids.push(id);
    return ids;
  },
  follow,
};

/** All events of the server, and the place that is stored after each. Ends 20 s after the start. */
async function follow(client: Client): Promise<unknown> {
  const ids: string[] = [];
  let saved: string | undefined;
  const place = { load: () => saved, save: (cursor: string) => void (saved = cursor) };
  const signal = AbortSignal.timeout(20_000);
  for await (const event of client.follow({}, { place, signal, silenceMs: 200 })) {
    ids.push(event.id);
    if (ids.length === 20) break;
  }
  return { ids, saved };
}

async function outcome(base: string, seed: string, task: string): Promise<object> {
  const client = new Client({ ...limits, baseUrl: `${base}/${seed}`, apiKey: "key" });
  const began = performance.now();
  try {
    return { value: await TASKS[task]?.(client, seed), ms: performance.now() - began };
  } catch (error) {
    const ms = performance.now() - began;
    if (!(error instanceof GatewayError)) return { other: String(error), ms };
    const { name, code, status, message, idempotencyKey } = error;
    return { error: { name, code, status, message, idempotencyKey }, ms };
  }
}

const [base, calls] = JSON.parse(readFileSync(0, "utf8")) as [string, [string, string][]];
async function work(): Promise<void> {
  for (let call = calls.shift(); call; call = calls.shift()) {
    const [seed, task] = call;
    process.stdout.write(`${JSON.stringify({ seed, task, ...(await outcome(base, seed, task)) })}\n`);
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, work));
