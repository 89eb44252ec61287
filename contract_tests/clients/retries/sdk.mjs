/** Sends a message with the SDK: see contract_tests/clients/retry_program.py. */

import { createInterface } from "node:readline";

import { Client } from "@messaging-gateway/client";

const { BASE_URL, API_KEY, BODY } = process.env;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const real = setTimeout;
// Only the pauses of the SDK: it also has timers for time-outs, and Node.js has others.
globalThis.setTimeout = (wake, ms) => {
  if (!new Error().stack.includes("at sleep ")) return real(wake, ms);
  console.log(JSON.stringify({ pause: ms / 1000 }));
  lines.next().then(wake);
};
const client = new Client({ baseUrl: BASE_URL, apiKey: API_KEY, retries: 3 });
const body = JSON.parse(BODY);
const sent = await client.sendMessage({ body, idempotencyKey: body.to }).then(
  (body) => ({ status: 200, body }),
  ({ status }) => ({ status, body: null }),
);
console.log(JSON.stringify(sent));
process.exit();
