// Sends a message with axios and axios-retry: node retry.mjs RECIPIENT, with BASE_URL, API_KEY and NUMBER.
// Prints the length of each pause and waits for a line of input, which ends it. Then prints the response.
import { createInterface } from "node:readline";

import axios from "axios";
import axiosRetry, { exponentialDelay, isRetryableError } from "axios-retry";

const { BASE_URL, API_KEY, NUMBER } = process.env;
const [recipient] = process.argv.slice(2);
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

function print(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

axiosRetry(axios, {
  retries: 3,
  retryCondition: isRetryableError,
  retryDelay: (count, error) => {
    print({ pause: Math.floor(exponentialDelay(count, error) / 1000) });
    return 0;
  },
  onRetry: () => input.next(),
});

const text = { body: "Hello" };
const { status, data } = await axios
  .post(
    `${BASE_URL}/messages/send`,
    { number_id: NUMBER, to: recipient, type: "text", text },
    { headers: { Authorization: `Bearer ${API_KEY}`, "Idempotency-Key": recipient } },
  )
  .catch((error) => error.response);
print({ status, data });
process.stdin.destroy();
