/** Sends a message with axios and axios-retry: see contract_tests/clients/retry_program.py. */

import { createInterface } from "node:readline";

import axios from "axios";
import axiosRetry, { exponentialDelay, isRetryableError } from "axios-retry";

const { BASE_URL, API_KEY, BODY } = process.env;
const body = JSON.parse(BODY);
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

const sent = await axios
  .post(`${BASE_URL}/messages/send`, body, {
    headers: { Authorization: `Bearer ${API_KEY}`, "Idempotency-Key": body.to },
  })
  .catch((error) => error.response);
print({ status: sent.status, body: sent.data });
process.stdin.destroy();
