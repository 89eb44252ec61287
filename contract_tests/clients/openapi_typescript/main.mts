/**
 * A customer's program with the types that openapi-typescript generates, and openapi-fetch.
 *
 * Takes its settings from the environment and its deliveries from stdin, and prints one JSON document: see
 * contract_tests/clients/story.py.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import createClient from "openapi-fetch";
import { Webhook as Signature } from "standardwebhooks";

import type { components, paths } from "./contract.mjs";

type Schemas = components["schemas"];
type Event = Schemas["Event"];
type SendRequest = Schemas["SendMessageRequest"];
type Told = [kind: string, id: string, phoneNumber: string];

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

const RECIPIENT = "15551234567";
const PICTURE = "https://example.com/parcel.png";

const baseUrl = setting("BASE_URL");
const headers = { Authorization: `Bearer ${setting("API_KEY")}` };
const gateway = createClient<paths>({ baseUrl, headers });
const visitor = createClient<paths>({ baseUrl });
const arriving = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

function setting(name: string): string {
  const value = process.env[name];
  assert(value, `${name} is not set`);
  return value;
}

/** The body of a response that must be a success. */
function expect<T>(status: number, { data, error, response }: Answer<T>): T {
  assert.equal(response.status, status, JSON.stringify(error));
  assert(data !== undefined);
  return data;
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
  const params = { path: { slug } };
  const link = expect(200, await visitor.GET("/signup/{slug}", { params }));
  assert.equal(link.slug, slug);
  const claim = await sandbox<Schemas["CompleteSignupRequest"]>("signup", {});
  const { code, phone_number_id, waba_id } = claim;
  const body = { code, phone_number_id, waba_id };
  return expect(201, await visitor.POST("/signup/{slug}/complete", { params, body }));
}

/** Verifies the next delivery. Its field `event` tells which event it is. */
async function receive(secret: string): Promise<Event> {
  const { value } = await arriving.next();
  const { headers, body } = JSON.parse(value ?? "") as {
    headers: Record<string, string>;
    body: string;
  };
  return new Signature(secret).verify(body, headers) as Event;
}

/** The next deliveries. */
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

/** Sends a message, and returns its identifier. */
async function send(body: SendRequest, key?: string): Promise<string> {
  const params = key === undefined ? {} : { header: { "Idempotency-Key": key } };
  return expect(200, await gateway.POST("/messages/send", { params, body })).id;
}

async function sendText(number_id: string): Promise<string> {
  const text = { body: "Your order has shipped." };
  return await send({ number_id, to: RECIPIENT, type: "text", text }, "order-4711");
}

/** A picture from the web, as a reply. */
async function sendImage(number_id: string, message_id: string): Promise<string> {
  return await send({
    number_id,
    to: RECIPIENT,
    type: "image",
    context: { message_id },
    image: { link: PICTURE, caption: "A parcel" },
  });
}

async function sendLocation(number_id: string): Promise<string> {
  const location = { latitude: 52.5, longitude: 13.25, name: "The shop" };
  return await send({ number_id, to: RECIPIENT, type: "location", location });
}

/** A list to pick from. */
async function sendInteractive(number_id: string): Promise<string> {
  const rows = [
    { id: "1", title: "Morning" },
    { id: "2", title: "Evening" },
  ];
  return await send({
    number_id,
    to: RECIPIENT,
    type: "interactive",
    interactive: {
      type: "list",
      body: { text: "When?" },
      action: { button: "Pick", sections: [{ rows }] },
    },
  });
}

/** A template with a picture, a name and a button. */
async function sendTemplate(number_id: string): Promise<string> {
  return await send({
    number_id,
    to: RECIPIENT,
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
  });
}

async function sendReaction(number_id: string, message_id: string): Promise<string> {
  const reaction = { message_id, emoji: "👍" };
  return await send({ number_id, to: RECIPIENT, type: "reaction", reaction });
}

/** Sends all but the text, and returns their identifiers by type. */
async function sendOthers(number_id: string, first: string): Promise<Record<string, string>> {
  return {
    image: await sendImage(number_id, first),
    location: await sendLocation(number_id),
    interactive: await sendInteractive(number_id),
    template: await sendTemplate(number_id),
    reaction: await sendReaction(number_id, first),
  };
}

/** Uploads a picture, receives it as a person's message, and downloads it. */
async function exchangePicture(
  number: Schemas["ConnectedNumber"],
  secret: string,
): Promise<string> {
  const form = new FormData();
  form.append("file", new File(["a picture"], "parcel.png", { type: "image/png" }));
  const uploaded = expect(
    200,
    await gateway.POST("/numbers/{number_id}/media", {
      params: { path: { number_id: number.id } },
      body: { file: "" },
      bodySerializer: () => form,
    }),
  );
  const image = { id: uploaded.id };
  await sandbox("inbound", { to: number.phoneNumber, from: RECIPIENT, type: "image", image });
  const received = await receive(secret);
  assert(received.event === "message.received");
  assert.equal(received.data.body["mime_type"], uploaded.mimeType);
  const path = { message_id: received.data.id };
  const answer = await gateway.GET("/messages/{message_id}/media", {
    params: { path },
    parseAs: "blob",
  });
  return await expect<Blob>(200, answer).text();
}

/** The error for a number that does not exist. */
async function refusal(): Promise<object> {
  const path = { number_id: "num_unknown" };
  const { error } = await gateway.GET("/numbers/{number_id}", { params: { path } });
  assert(error);
  return { status: error.error.status, code: error.error.code };
}

/** The event of the webhook's newest delivery, as the gateway stores it. */
async function newestPayload(webhook_id: string): Promise<Event> {
  const params = { path: { webhook_id }, query: { limit: 1 } };
  const page = expect(200, await gateway.GET("/webhooks/{webhook_id}/deliveries", { params }));
  assert(page.data[0]);
  const path = { delivery_id: page.data[0].id };
  return expect(200, await gateway.GET("/deliveries/{delivery_id}", { params: { path } })).payload;
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
  const body = { url: setting("RECEIVER_URL"), events };
  const params = { header: { "Idempotency-Key": "crm" } };
  return expect(201, await gateway.POST("/webhooks", { params, body }));
}

/** Connects, sends, receives, exchanges a picture, rotates the secret, tests the webhook. */
async function story(): Promise<object> {
  const webhook = await createWebhook();
  assert.equal((await createWebhook()).id, webhook.id);
  const params = { path: { webhook_id: webhook.id } };
  const number = await connect(setting("SLUG"));
  const activated = await receiveSeveral(webhook.secret, 1);
  const first = await sendText(number.id);
  assert.equal(await sendText(number.id), first);
  const early = await receiveSeveral(webhook.secret, 3);
  const picture = await exchangePicture(number, webhook.secret);
  const rotated = expect(200, await gateway.POST("/webhooks/{webhook_id}/rotate-secret", { params }));
  const sent = { text: first, ...(await sendOthers(number.id, first)) };
  const late = await receiveSeveral(rotated.secret, 15);
  const payload = await newestPayload(webhook.id);
  const sampled = { params, body: { event: "number.banned" } } as const;
  const test = expect(200, await gateway.POST("/webhooks/{webhook_id}/test", sampled));
  const [sample] = await receiveSeveral(rotated.secret, 1);
  const deleted = await gateway.DELETE("/webhooks/{webhook_id}", { params });
  assert.equal(deleted.response.status, 204);
  const path = { message_id: first };
  const message = expect(200, await gateway.GET("/messages/{message_id}", { params: { path } }));
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

process.stdout.write(JSON.stringify(await story()));
process.stdin.destroy();
