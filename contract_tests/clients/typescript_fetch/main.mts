/**
 * A customer's program with the client that OpenAPI Generator generates for TypeScript (typescript-fetch).
 *
 * Takes its settings from the environment and its deliveries from stdin, and prints one JSON document: see
 * contract_tests/clients/story.py.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { Webhook as Signature } from "standardwebhooks";

import {
  Configuration,
  DeliveriesApi,
  ErrorResponseFromJSON,
  EventFromJSON,
  EventKind,
  MediaApi,
  MessagesApi,
  NumbersApi,
  ResponseError,
  SignupApi,
  WebhooksApi,
  type ConnectedNumber,
  type Event,
  type SendMessageRequest,
} from "./client/index.js";

type Told = [kind: string, id: string, phoneNumber: string];
type Claim = Record<"code" | "phone_number_id" | "waba_id", string>;

const RECIPIENT = "15551234567";
const PICTURE = "https://example.com/parcel.png";

const configuration = new Configuration({
  basePath: setting("BASE_URL"),
  accessToken: setting("API_KEY"),
});
const messages = new MessagesApi(configuration);
const media = new MediaApi(configuration);
const webhooks = new WebhooksApi(configuration);
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
async function connect(slug: string): Promise<ConnectedNumber> {
  const signup = new SignupApi(configuration);
  const link = await signup.getSignupLink({ slug });
  const claim = await sandbox<Claim>("signup", {});
  return await signup.completeSignup({
    slug: link.slug,
    completeSignupRequest: {
      code: claim.code,
      phoneNumberId: claim.phone_number_id,
      wabaId: claim.waba_id,
    },
  });
}

/** Verifies and parses the next delivery. */
async function receive(secret: string): Promise<Event> {
  const { value } = await arriving.next();
  const { headers, body } = JSON.parse(value ?? "") as {
    headers: Record<string, string>;
    body: string;
  };
  return EventFromJSON(new Signature(secret).verify(body, headers));
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
async function send(request: SendMessageRequest, idempotencyKey?: string): Promise<string> {
  const once = idempotencyKey === undefined ? {} : { idempotencyKey };
  return (await messages.sendMessage({ sendMessageRequest: request, ...once })).id;
}

async function sendText(numberId: string): Promise<string> {
  const text = { body: "Your order has shipped." };
  return await send({ numberId, to: RECIPIENT, type: "text", text }, "order-4711");
}

/** A picture from the web, as a reply. */
async function sendImage(numberId: string, answered: string): Promise<string> {
  return await send({
    numberId,
    to: RECIPIENT,
    type: "image",
    context: { messageId: answered },
    image: { link: PICTURE, caption: "A parcel" },
  });
}

async function sendLocation(numberId: string): Promise<string> {
  const location = { latitude: 52.5, longitude: 13.25, name: "The shop" };
  return await send({ numberId, to: RECIPIENT, type: "location", location });
}

/** A list to pick from. */
async function sendInteractive(numberId: string): Promise<string> {
  const rows = [
    { id: "1", title: "Morning" },
    { id: "2", title: "Evening" },
  ];
  return await send({
    numberId,
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
async function sendTemplate(numberId: string): Promise<string> {
  return await send({
    numberId,
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
          subType: "quick_reply",
          index: "0",
          parameters: [{ type: "payload", payload: "STOP" }],
        },
      ],
    },
  });
}

async function sendReaction(numberId: string, messageId: string): Promise<string> {
  const reaction = { messageId, emoji: "👍" };
  return await send({ numberId, to: RECIPIENT, type: "reaction", reaction });
}

/** Sends all but the text, and returns their identifiers by type. */
async function sendOthers(numberId: string, first: string): Promise<Record<string, string>> {
  return {
    image: await sendImage(numberId, first),
    location: await sendLocation(numberId),
    interactive: await sendInteractive(numberId),
    template: await sendTemplate(numberId),
    reaction: await sendReaction(numberId, first),
  };
}

/** Uploads a picture, receives it as a person's message, and downloads it. */
async function exchangePicture(number: ConnectedNumber, secret: string): Promise<string> {
  const file = new File(["a picture"], "parcel.png", { type: "image/png" });
  const uploaded = await media.uploadMedia({ numberId: number.id, file });
  const image = { id: uploaded.id };
  await sandbox("inbound", { to: number.phoneNumber, from: RECIPIENT, type: "image", image });
  const received = await receive(secret);
  assert(received.event === "message.received");
  assert.equal(received.data.body["mime_type"], uploaded.mimeType);
  return await (await media.downloadMedia({ messageId: received.data.id })).text();
}

/** The error for a number that does not exist. */
async function refusal(): Promise<object> {
  try {
    await new NumbersApi(configuration).getNumber({ numberId: "num_unknown" });
  } catch (thrown) {
    assert(thrown instanceof ResponseError);
    const { error } = ErrorResponseFromJSON(await thrown.response.json());
    return { status: error.status, code: error.code };
  }
  throw new Error("an unknown number was found");
}

/** The event of the webhook's newest delivery, as the gateway stores it. */
async function newestPayload(webhookId: string): Promise<Event> {
  const deliveries = new DeliveriesApi(configuration);
  const [newest] = (await deliveries.listWebhookDeliveries({ webhookId, limit: 1 })).data;
  assert(newest);
  return (await deliveries.getDelivery({ deliveryId: newest.id })).payload;
}

/** Connects, sends, receives, exchanges a picture, rotates the secret, tests the webhook. */
async function story(): Promise<object> {
  const events = Object.values(EventKind);
  const subscription = {
    idempotencyKey: "crm",
    createWebhookRequest: { url: setting("RECEIVER_URL"), events },
  };
  const webhook = await webhooks.createWebhook(subscription);
  assert.deepEqual(await webhooks.createWebhook(subscription), webhook);
  const webhookId = webhook.id;
  const number = await connect(setting("SLUG"));
  const activated = await receiveSeveral(webhook.secret, 1);
  const first = await sendText(number.id);
  assert.equal(await sendText(number.id), first);
  const early = await receiveSeveral(webhook.secret, 3);
  const picture = await exchangePicture(number, webhook.secret);
  const rotated = await webhooks.rotateWebhookSecret({ webhookId });
  const sent = { text: first, ...(await sendOthers(number.id, first)) };
  const late = await receiveSeveral(rotated.secret, 15);
  const payload = await newestPayload(webhookId);
  const testWebhookRequest = { event: EventKind.NumberBanned };
  const test = await webhooks.testWebhook({ webhookId, testWebhookRequest });
  const [sample] = await receiveSeveral(rotated.secret, 1);
  await webhooks.deleteWebhook({ webhookId });
  const { statusHistory } = await messages.getMessage({ messageId: first });
  const examples = readFileSync(setting("EVENTS"), "utf8").trimEnd().split("\n");
  return {
    number: number.id,
    sent,
    history: statusHistory.map((step) => step.status),
    received: [...activated, ...early, ...late],
    secrets: [webhook.secret, rotated.secret],
    picture,
    payload: told(payload),
    test: { success: test.success, status: test.statusCode },
    sample,
    refusal: await refusal(),
    examples: examples.map((example) => told(EventFromJSON(JSON.parse(example)))),
  };
}

process.stdout.write(JSON.stringify(await story()));
process.stdin.destroy();
