/**
 * The story of contract_tests/clients/story.py, for clients in TypeScript whose calls are methods of `Client`.
 *
 * The generated types must fit those of this file: requests theirs, and responses and events ours.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { Webhook as Signature } from "standardwebhooks";

/**
 * A customer's calls with a generated client. `Button` is its type of the value `quick_reply`, `Category` that of
 * `UTILITY`.
 */
export interface Client<Button extends string, Category extends string> {
  readonly quickReply: Button;
  readonly utility: Category;
  signupLink(slug: string): Promise<{ slug: string }>;
  completeSignup(slug: string, claim: Claim): Promise<ConnectedNumber>;
  createWebhook(url: string, key: string): Promise<Webhook>;
  rotateSecret(webhook: string): Promise<Webhook>;
  testWebhook(webhook: string): Promise<{ success: boolean; statusCode: number | null }>;
  deleteWebhook(webhook: string): Promise<unknown>;
  newestPayload(webhook: string): Promise<Event>;
  failedDeliveries(webhook: string): Promise<Page>;
  /** The deliveries of `message.read`. */
  readDeliveries(webhook: string, since: string): Promise<Page>;
  /** The events `message.read` and `message.failed`. */
  outcomes(since: string): Promise<Page>;
  createTemplate(number: string, draft: Draft<Category>, key: string): Promise<{ id: string }>;
  send(message: Message<Button>, key?: string): Promise<{ id: string }>;
  message(id: string): Promise<{ statusHistory: { status: string }[] }>;
  upload(number: string, file: File): Promise<{ id: string; mimeType: string }>;
  download(message: string): Promise<string>;
  /** The error for a number that does not exist. */
  refusal(number: string): Promise<{ status: number; code: string }>;
  parse(event: unknown): Event;
}

export interface Claim {
  code: string;
  phone_number_id: string;
  waba_id: string;
}

interface ConnectedNumber {
  id: string;
  phoneNumber: string;
}

interface Webhook {
  id: string;
  secret: string;
}

interface Page {
  data: { event: string }[];
}

type NumberKind = `number.${"activated" | "disconnected" | "banned" | "updated"}`;
type BroadcastKind = `broadcast.${"started" | "paused" | "completed"}`;
type MessageKind = `message.${"sent" | "delivered" | "read" | "failed" | "echoed" | "edited" | "deleted"}`;

/** What the story reads of an event. A generated `Event` must be one of these. */
export type Event =
  | { event: NumberKind; data: ConnectedNumber }
  | { event: "template.updated"; data: { id: string; name: string } }
  | { event: "contact.updated" | BroadcastKind; data: { id: string; numberId: string } }
  | { event: "message.received"; data: { id: string; fromNumber: string; body: Record<string, unknown> } }
  | { event: MessageKind | "call.updated"; data: { id: string; fromNumber: string } };

export type Message<Button extends string> = ReturnType<typeof messages<Button>>[Kind] | Text;
export type Draft<Category extends string> = ReturnType<typeof draft<Category>>;
type Text = ReturnType<typeof text>;
type Kind = "image" | "location" | "interactive" | "template" | "reaction";
type Told = [kind: string, id: string, phoneNumber: string];
type Mutable<T> = { -readonly [K in keyof T]: Mutable<T[K]> };

const RECIPIENT = "15551234567";
const PICTURE = "https://example.com/parcel.png";
// In milliseconds.
const HOUR = 3_600_000;

/** The value, whose type has its constants. */
function exact<const T>(value: T): Mutable<T> {
  return value;
}

function text(number_id: string) {
  return exact({ number_id, to: RECIPIENT, type: "text", text: { body: "Your order has shipped." } });
}

/** A template of one text. */
function draft<Category extends string>(category: Category) {
  const components = exact([{ type: "BODY", text: "Your order has shipped." }]);
  return { name: "order_shipped", language: "en_US", category, components };
}

/** A message of each other type. `first` is the message that image and reaction refer to. */
function messages<Button extends string>(number_id: string, first: string, quickReply: Button) {
  const to = RECIPIENT;
  const rows = exact([
    { id: "1", title: "Morning" },
    { id: "2", title: "Evening" },
  ]);
  const components = exact([
    { type: "header", parameters: [{ type: "image", image: { link: PICTURE } }] },
    { type: "body", parameters: [{ type: "text", text: "Ana" }] },
    {
      type: "button",
      sub_type: quickReply,
      index: "0",
      parameters: [{ type: "payload", payload: "STOP" }],
    },
  ]);
  const template = { name: "order_update", language: { code: "en_US" }, components };
  const interactive = exact({
    type: "list",
    body: { text: "When?" },
    action: { button: "Pick", sections: [{ rows }] },
  });
  return exact({
    image: {
      number_id,
      to,
      type: "image",
      context: { message_id: first },
      image: { link: PICTURE, caption: "A parcel" },
    },
    location: {
      number_id,
      to,
      type: "location",
      location: { latitude: 52.5, longitude: 13.25, name: "The shop" },
    },
    interactive: { number_id, to, type: "interactive", interactive },
    template: { number_id, to, type: "template", template },
    reaction: { number_id, to, type: "reaction", reaction: { message_id: first, emoji: "👍" } },
  });
}

export function setting(name: string): string {
  const value = process.env[name];
  assert(value, `${name} is not set`);
  return value;
}

/** The actions of the platform and the recipient, which are not in the gateway's contract. */
async function sandbox<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${setting("SANDBOX_URL")}/_sandbox/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert(response.ok, await response.clone().text());
  return (await response.json()) as T;
}

/** The event kind, the message or number, and the phone number in the event. */
function told({ event, data }: Event): Told {
  switch (event) {
    case "number.activated":
    case "number.disconnected":
    case "number.banned":
    case "number.updated":
      return [event, data.id, data.phoneNumber];
    case "template.updated":
      return [event, data.id, data.name];
    case "contact.updated":
    case "broadcast.started":
    case "broadcast.paused":
    case "broadcast.completed":
      return [event, data.id, data.numberId];
    default:
      return [event, data.id, data.fromNumber];
  }
}

class Story<Button extends string, Category extends string> {
  private readonly arriving = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

  constructor(private readonly client: Client<Button, Category>) {}

  /** Connects, sends, receives, exchanges a picture, rotates the secret, tests the webhook. */
  async tell(): Promise<object> {
    const { client } = this;
    const webhook = await client.createWebhook(setting("RECEIVER_URL"), "crm");
    assert.equal((await client.createWebhook(setting("RECEIVER_URL"), "crm")).id, webhook.id);
    const number = await this.connect(setting("SLUG"));
    const activated = await this.receiveSeveral(webhook.secret, 1);
    const { id: first } = await client.send(text(number.id), "order-4711");
    assert.equal((await client.send(text(number.id), "order-4711")).id, first);
    const early = await this.receiveSeveral(webhook.secret, 3);
    const picture = await this.exchangePicture(number, webhook.secret);
    const rotated = await client.rotateSecret(webhook.id);
    const sent = { text: first, ...(await this.sendOthers(number.id, first)) };
    const late = await this.receiveSeveral(rotated.secret, 15);
    await this.checkFilters(webhook.id);
    const payload = told(await client.newestPayload(webhook.id));
    const test = await client.testWebhook(webhook.id);
    const [sample] = await this.receiveSeveral(rotated.secret, 1);
    await client.deleteWebhook(webhook.id);
    // After the deletion, because its review causes an event.
    const template = await client.createTemplate(number.id, draft(client.utility), "order-shipped");
    const again = await client.createTemplate(number.id, draft(client.utility), "order-shipped");
    assert.equal(again.id, template.id);
    const { status, code } = await client.refusal("num_unknown");
    const examples = readFileSync(setting("EVENTS"), "utf8").trimEnd().split("\n");
    return {
      number: number.id,
      sent,
      history: (await client.message(first)).statusHistory.map((step) => step.status),
      received: [...activated, ...early, ...late],
      secrets: [webhook.secret, rotated.secret],
      picture,
      payload,
      test: { success: test.success, status: test.statusCode },
      sample,
      refusal: { status, code },
      examples: examples.map((example) => told(client.parse(JSON.parse(example)))),
    };
  }

  /** Connects a number through the public signup routes, like its owner. */
  private async connect(slug: string): Promise<ConnectedNumber> {
    const link = await this.client.signupLink(slug);
    const { code, phone_number_id, waba_id } = await sandbox<Claim>("signup", {});
    return await this.client.completeSignup(link.slug, { code, phone_number_id, waba_id });
  }

  /** Lists deliveries and events, of which only `message.read` of the six messages fits. None failed. */
  private async checkFilters(webhook: string): Promise<void> {
    const { client } = this;
    const kinds = async (page: Promise<Page>) => (await page).data.map(({ event }) => event);
    const [earlier, later] = [-1, 1].map((hours) => new Date(Date.now() + hours * HOUR).toISOString());
    assert(earlier && later);
    const reads = Array<string>(6).fill("message.read");
    assert.deepEqual(await kinds(client.failedDeliveries(webhook)), []);
    assert.deepEqual(await kinds(client.readDeliveries(webhook, earlier)), reads);
    assert.deepEqual(await kinds(client.readDeliveries(webhook, later)), []);
    assert.deepEqual(await kinds(client.outcomes(earlier)), reads);
    assert.deepEqual(await kinds(client.outcomes(later)), []);
  }

  /** Verifies and parses the next delivery. */
  private async receive(secret: string): Promise<Event> {
    const { value } = await this.arriving.next();
    const { headers, body } = JSON.parse(value ?? "");
    return this.client.parse(new Signature(secret).verify(body, headers));
  }

  private async receiveSeveral(secret: string, count: number): Promise<Told[]> {
    const received: Told[] = [];
    while (received.length < count) received.push(told(await this.receive(secret)));
    return received;
  }

  /** Sends all but the text, and returns their identifiers by type. */
  private async sendOthers(number: string, first: string): Promise<Record<string, string>> {
    const sent: Record<string, string> = {};
    for (const [kind, message] of Object.entries(messages(number, first, this.client.quickReply))) {
      sent[kind] = (await this.client.send(message)).id;
    }
    return sent;
  }

  /** Uploads a picture, receives it as a person's message, and downloads it. */
  private async exchangePicture(number: ConnectedNumber, secret: string): Promise<string> {
    const file = new File(["a picture"], "parcel.png", { type: "image/png" });
    const { id, mimeType } = await this.client.upload(number.id, file);
    const sent = { to: number.phoneNumber, from: RECIPIENT, type: "image", image: { id } };
    await sandbox("inbound", sent);
    const received = await this.receive(secret);
    assert(received.event === "message.received");
    assert.equal(received.data.body["mime_type"], mimeType);
    return await this.client.download(received.data.id);
  }
}

/** Prints the story of a program as one JSON document. */
export async function print<Button extends string, Category extends string>(
  client: Client<Button, Category>,
): Promise<void> {
  process.stdout.write(JSON.stringify(await new Story(client).tell()));
  process.stdin.destroy();
}
