/** Verifies each request of stdin, and prints the events of each, or the name of the error. */

import { readFileSync } from "node:fs";

import { verifyAndParse, type VerifyOptions } from "@messaging-gateway/client";

interface Given {
  headers: Record<string, string>;
  body: string;
  secret: string | string[];
  options?: VerifyOptions;
}

async function outcome({ headers, body, secret, options }: Given): Promise<unknown> {
  const bytes = new TextEncoder().encode(body);
  const forms = [verifyAndParse(headers, body, secret, options), verifyAndParse(new Headers(headers), bytes, secret, options)];
  const [first, second] = await Promise.all(forms.map((form) => form.catch((error: Error) => error.name)));
  return JSON.stringify(first) === JSON.stringify(second) ? first : "The two forms differ.";
}

const given = JSON.parse(readFileSync(0, "utf8")) as Given[];
process.stdout.write(JSON.stringify(await Promise.all(given.map(outcome))));
