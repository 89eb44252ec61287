/** A customer's program with the client that OpenAPI Generator generates for TypeScript and axios. */

import assert = require("node:assert/strict");
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { isAxiosError } from "axios";
import { Webhook } from "standardwebhooks";

import {
  Configuration,
  DeliveriesApi,
  EventKind,
  MediaApi,
  MessagesApi,
  NumbersApi,
  SignupApi,
  WebhooksApi,
  type CompleteSignupRequest,
  type ConnectedNumber,
  type ErrorResponse,
  type Event,
  type SendMessageRequest,
} from "./client";

type Told = [kind: string, id: string, phoneNumber: string];

const RECIPIENT = "15551234567";
const PICTURE = "https://example.com/parcel.png";

const config = new Configuration({ basePath: setting("BASE_URL"), accessToken: setting("API_KEY") });
const media = new MediaApi(config);
const messages = new MessagesApi(config);
const webhooks = new WebhooksApi(config);
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
async function connect(): Promise<ConnectedNumber> {
  const signup = new SignupApi(config);
  const { data: link } = await signup.getSignupLink(setting("SLUG"));
  const { code, phone_number_id, waba_id } = await sandbox<CompleteSignupRequest>("signup", {});
  return (await signup.completeSignup(link.slug, { code, phone_number_id, waba_id })).data;
}

function text(number_id: string): SendMessageRequest {
  return { number_id, to: RECIPIENT, type: "text", text: { body: "Your order has shipped." } };
}

/** An image as a reply, a location, a list, a template and a reaction. */
function others(number_id: string, message_id: string): SendMessageRequest[] {
  const address = { number_id, to: RECIPIENT };
  const rows = [
    { id: "1", title: "Morning" },
    { id: "2", title: "Evening" },
  ];
  return [
    { ...address, type: "image", context: { message_id }, image: { link: PICTURE, caption: "A parcel" } },
    { ...address, type: "location", location: { latitude: 52.5, longitude: 13.25, name: "The shop" } },
    {
      ...address,
      type: "interactive",
      interactive: {
        type: "list",
        body: { text: "When?" },
        action: { button: "Pick", sections: [{ rows }] },
      },
    },
    {
      ...address,
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
    { ...address, type: "reaction", reaction: { message_id, emoji: "👍" } },
  ];
}

async function send(request: SendMessageRequest, idempotencyKey: string): Promise<string> {
  return (await messages.sendMessage(request, idempotencyKey)).data.id;
}

/** Uploads a picture, has the recipient send it, and downloads it. */
async function exchangePicture(number: ConnectedNumber, secret: string): Promise<unknown> {
  const { data: uploaded } = await media.uploadMedia(number.id, new File(["a picture"], "parcel.png"));
  const image = { id: uploaded.id };
  await sandbox("inbound", { to: number.phoneNumber, from: RECIPIENT, type: "image", image });
  const event = await next(secret);
  assert(event.event === "message.received");
  assert.equal(event.data.body["mime_type"], uploaded.mimeType);
  return (await media.downloadMedia(event.data.id, { responseType: "text" })).data;
}

/** The event of the webhook's newest delivery, as the gateway stores it. */
async function newestPayload(webhookId: string): Promise<Told> {
  const deliveries = new DeliveriesApi(config);
  const page = await deliveries.listWebhookDeliveries(
    webhookId, undefined, undefined, undefined, undefined, 1,
  );
  const [newest] = page.data.data;
  assert(newest);
  return tell((await deliveries.getDelivery(newest.id)).data.payload);
}

/** Verifies and parses the next delivery. */
async function next(secret: string): Promise<Event> {
  const { value } = await arriving.next();
  const { headers, body } = JSON.parse(value ?? "");
  return new Webhook(secret).verify(body, headers) as Event;
}

async function receive(secret: string, count: number): Promise<Told[]> {
  const received: Told[] = [];
  while (received.length < count) received.push(tell(await next(secret)));
  return received;
}

/** The event kind, the message or number, and the phone number in the event. */
function tell(event: Event): Told {
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

/** The error for a number that does not exist. */
async function refusal(): Promise<object> {
  try {
    await new NumbersApi(config).getNumber("num_unknown");
  } catch (thrown) {
    assert(isAxiosError<ErrorResponse>(thrown) && thrown.response);
    const { error } = thrown.response.data;
    return { status: error.status, code: error.code };
  }
  throw new Error("an unknown number was found");
}

async function story(): Promise<object> {
  const subscription = { url: setting("RECEIVER_URL"), events: Object.values(EventKind) };
  const { data: webhook } = await webhooks.createWebhook(subscription, "crm");
  assert.deepEqual((await webhooks.createWebhook(subscription, "crm")).data, webhook);
  const number = await connect();
  const activated = await receive(webhook.secret, 1);
  const first = await send(text(number.id), "order-4711");
  assert.equal(await send(text(number.id), "order-4711"), first);
  const early = await receive(webhook.secret, 3);
  const picture = await exchangePicture(number, webhook.secret);
  const { data: rotated } = await webhooks.rotateWebhookSecret(webhook.id);
  const sent: Record<string, string> = { text: first };
  for (const request of others(number.id, first)) {
    sent[request.type] = await send(request, `axios-${request.type}`);
  }
  const late = await receive(rotated.secret, 15);
  const payload = await newestPayload(webhook.id);
  const { data: test } = await webhooks.testWebhook(webhook.id, { event: EventKind.NumberBanned });
  const [sample] = await receive(rotated.secret, 1);
  await webhooks.deleteWebhook(webhook.id);
  const { data: message } = await messages.getMessage(first);
  const examples = readFileSync(setting("EVENTS"), "utf8").trimEnd().split("\n");
  return {
    number: number.id,
    sent,
    history: message.statusHistory.map((step) => step.status),
    received: [...activated, ...early, ...late],
    secrets: [webhook.secret, rotated.secret],
    picture,
    payload,
    test: { success: test.success, status: test.statusCode },
    sample,
    refusal: await refusal(),
    examples: examples.map((example) => tell(JSON.parse(example))),
  };
}

void story().then((told) => {
  console.log(JSON.stringify(told));
  process.exit();
});
