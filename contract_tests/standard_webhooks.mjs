// Verifies one delivery: secret and headers are arguments, the body comes on stdin. Prints the verdict.
import { readFileSync } from "node:fs";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

const [secret, headers] = process.argv.slice(2);
const body = readFileSync(0);
try {
  const event = new Webhook(secret).verify(body, JSON.parse(headers));
  if (JSON.stringify(event) !== JSON.stringify(JSON.parse(body))) throw new Error("another event");
  process.stdout.write("verified");
} catch (error) {
  if (!(error instanceof WebhookVerificationError)) throw error;
  process.stdout.write(error.message);
}
