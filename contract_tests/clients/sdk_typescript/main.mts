/**
 * A customer's program with the SDK. Its settings come from the environment, its deliveries from stdin.
 *
 * It prints one JSON document: see contract_tests/clients/story.py.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { ApiError, Client, verifyAndParse, type Schemas } from "@messaging-gateway/client";

type Event = Schemas["Event"];
type Told = [kind: string, id: string, phoneNumber: string];

const RECIPIENT = "15551234567";
const PICTURE = "https://example.com/parcel.png";

const baseUrl = setting("BASE_URL");
const gateway = new Client({ baseUrl, apiKey: setting("API_KEY") });
const visitor = new Client({ baseUrl });
const arriving = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

function setting(name: string): string {
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

/** Connects a number through the public signup routes, like its owner. */
async function connect(slug: string): Promise<Schemas["ConnectedNumber"]> {
  const link = await visitor.getSignupLink({ slug });
  assert.equal(link.slug, slug);
  const { code, phone_number_id, waba_id } = await sandbox<Schemas["CompleteSignupRequest"]>("signup", {});
  return await visitor.completeSignup({ slug, body: { code, phone_number_id, waba_id } });
}

/** Verifies the next delivery. */
async function receive(secret: string): Promise<Event> {
  const { value } = await arriving.next();
  const { headers, body } = JSON.parse(value ?? "") as { headers: Record<string, string>; body: string };
  const [event] = await verifyAndParse(headers, body, secret);
  assert(event);
  return event;
}

async function receiveSeveral(secret: string, count: number): Promise<Told[]> {
  const received: Told[] = [];
  while (received.length < count) received.push(told(await receive(secret)));
  return received;
}

/** The event kind, the message or number, and the phone number in the event. */
function told(event: Event): Told {
  switch (event.event) {
    case "number.activated":
    case "number.disconnected":
    case "number.banned":
    case "number.updated":
      return [event.event, event.data.id, event.data.phoneNumber];
    case "template.updated":
      return [event.event, event.data.id, event.data.name];
    case "contact.updated":
    case "broadcast.started":
    case "broadcast.paused":
    case "broadcast.completed":
      return [event.event, event.data.id, event.data.numberId];
    default:
      return [event.event, event.data.id, event.data.fromNumber];
  }
}

async function sendText(number_id: string): Promise<string> {
  const body = { number_id, to: RECIPIENT, type: "text", text: { body: "Your order has shipped." } } as const;
  return (await gateway.sendMessage({ body, idempotencyKey: "order-4711" })).id;
}

/** The other kinds of messages. */
function others(number_id: string, first: string): Schemas["SendMessageRequest"][] {
  const to = { number_id, to: RECIPIENT };
  const rows = [
    { id: "1", title: "Morning" },
    { id: "2", title: "Evening" },
  ];
  return [
    { ...to, type: "image", context: { message_id: first }, image: { link: PICTURE, caption: "A parcel" } },
    { ...to, type: "location", location: { latitude: 52.5, longitude: 13.25, name: "The shop" } },
    {
      ...to,
      type: "interactive",
      interactive: { type: "list", body: { text: "When?" }, action: { button: "Pick", sections: [{ rows }] } },
    },
    {
      ...to,
      type: "template",
      template: {
        name: "order_update",
        language: { code: "en_US" },
        components: [
          { type: "header", parameters: [{ type: "image", image: { link: PICTURE } }] },
          { type: "body", parameters: [{ type: "text", text: "Ana" }] },
          {
            type: "button",
            sub_type: "quick_reply",
            index: "0",
            parameters: [{ type: "payload", payload: "STOP" }],
          },
        ],
      },
    },
    { ...to, type: "reaction", reaction: { message_id: first, emoji: "👍" } },
  ];
}

/** Sends all but the text, and returns their identifiers by type. */
async function sendOthers(number_id: string, first: string): Promise<Record<string, string>> {
  const sent: Record<string, string> = {};
  for (const body of others(number_id, first)) sent[body.type] = (await gateway.sendMessage({ body })).id;
  return sent;
}

/** Uploads a picture, receives it as a person's message, and downloads it. */
async function exchangePicture(number: Schemas["ConnectedNumber"], secret: string): Promise<string> {
  const file = new File(["a picture"], "parcel.png", { type: "image/png" });
  const uploaded = await gateway.uploadMedia({ number_id: number.id, body: { file } });
  const image = { id: uploaded.id };
  await sandbox("inbound", { to: number.phoneNumber, from: RECIPIENT, type: "image", image });
  const received = await receive(secret);
  assert(received.event === "message.received");
  const downloaded = await gateway.downloadMedia({ message_id: received.data.id });
  assert.deepEqual([downloaded.type, downloaded.name.split(".").pop()], ["image/png", "png"]);
  return await downloaded.text();
}

/** The error for a number that does not exist. */
async function refusal(): Promise<object> {
  try {
    await gateway.getNumber({ number_id: "num_unknown" });
  } catch (error) {
    assert(error instanceof ApiError);
    assert(error.requestId);
    return { status: error.status, code: error.code };
  }
  return {};
}

/** The event of the webhook's newest delivery, as the gateway stores it. */
async function newestPayload(webhook_id: string): Promise<Event> {
  for await (const { id } of gateway.each("listWebhookDeliveries", { webhook_id })) {
    return (await gateway.getDelivery({ delivery_id: id })).payload;
  }
  throw new Error("There is no delivery.");
}

async function createWebhook(): Promise<Schemas["Webhook"]> {
  const events: Schemas["EventKind"][] = [
    "message.received",
    "message.sent",
    "message.delivered",
    "message.read",
    "message.failed",
    "number.activated",
    "number.disconnected",
    "number.banned",
    "template.updated",
    "number.updated",
    "contact.updated",
    "broadcast.started",
    "broadcast.paused",
    "broadcast.completed",
  ];
  return await gateway.createWebhook({ body: { url: setting("RECEIVER_URL"), events } });
}

/** Connects, sends, receives, exchanges a picture, rotates the secret, tests the webhook. */
async function story(): Promise<object> {
  const webhook = await createWebhook();
  const webhook_id = webhook.id;
  const number = await connect(setting("SLUG"));
  const activated = await receiveSeveral(webhook.secret, 1);
  const first = await sendText(number.id);
  assert.equal(await sendText(number.id), first);
  const early = await receiveSeveral(webhook.secret, 3);
  const picture = await exchangePicture(number, webhook.secret);
  const rotated = await gateway.rotateWebhookSecret({ webhook_id });
  const sent = { text: first, ...(await sendOthers(number.id, first)) };
  const late = await receiveSeveral(rotated.secret, 15);
  const payload = await newestPayload(webhook_id);
  const test = await gateway.testWebhook({ webhook_id, body: { event: "number.banned" } });
  const [sample] = await receiveSeveral(rotated.secret, 1);
  await gateway.deleteWebhook({ webhook_id });
  const message = await gateway.getMessage({ message_id: first });
  const examples = readFileSync(setting("EVENTS"), "utf8").trimEnd().split("\n");
  return {
    number: number.id,
    sent,
    history: message.statusHistory.map((step) => step.status),
    received: [...activated, ...early, ...late],
    secrets: [webhook.secret, rotated.secret],
    picture,
    payload: told(payload),
    test: { success: test.success, status: test.statusCode },
    sample,
    refusal: await refusal(),
    examples: examples.map((example) => told(JSON.parse(example) as Event)),
  };
}

// Deno would wait for the end of stdin.
process.stdout.write(JSON.stringify(await story()), () => process.exit());
