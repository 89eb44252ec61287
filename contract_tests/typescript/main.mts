/**
 * A customer's program on the generated types: connect, send, receive, rotate, test.
 *
 * Takes everything from the environment and prints one JSON document. Any surprise ends it with status 1.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import createClient from "openapi-fetch";

import type { components, paths } from "./contract.mjs";
import { Receiver } from "./receiver.mjs";

type Webhook = components["schemas"]["Webhook"];
type SendRequest = components["schemas"]["SendMessageRequest"];
type Signup = Pick<
  components["schemas"]["CompleteSignupRequest"],
  "code" | "phone_number_id" | "waba_id"
>;

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

const RECIPIENT = "15551234567";

const baseUrl = setting("BASE_URL");
const headers = { Authorization: `Bearer ${setting("API_KEY")}` };
const gateway = createClient<paths>({ baseUrl, headers });
const visitor = createClient<paths>({ baseUrl });

function setting(name: string): string {
  const value = process.env[name];
  assert(value, `${name} is not set`);
  return value;
}

/** The body of an answer that has to be a success. */
function expect<T>(status: number, { data, error, response }: Answer<T>): T {
  assert.equal(response.status, status, JSON.stringify(error));
  assert(data !== undefined);
  return data;
}

/** What the platform and the recipient do; no part of the gateway's contract. */
async function sandbox<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${setting("SANDBOX_URL")}/_sandbox/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert(response.ok, await response.clone().text());
  return (await response.json()) as T;
}

async function connect(slug: string): Promise<components["schemas"]["Number"]> {
  const path = { slug };
  const link = expect(200, await visitor.GET("/signup/{slug}", { params: { path } }));
  assert.equal(link.slug, slug);
  const { code, phone_number_id, waba_id } = await sandbox<Signup>("signup", {});
  const body = { code, phone_number_id, waba_id };
  const number = expect(
    201,
    await visitor.POST("/signup/{slug}/complete", { params: { path }, body }),
  );
  assert.equal(number.status, "ACTIVE");
  const page = expect(200, await gateway.GET("/numbers", { params: { query: { limit: 1 } } }));
  assert.deepEqual(page.data[0], number);
  return number;
}

async function send(number_id: string, text: string): Promise<string> {
  const request = {
    params: { header: { "Idempotency-Key": randomUUID() } },
    body: { number_id, to: RECIPIENT, type: "text", text: { body: text } },
  } as const;
  const sent = expect(200, await gateway.POST("/messages/send", request));
  assert.equal(sent.status, "sent");
  assert.deepEqual(expect(200, await gateway.POST("/messages/send", request)), sent);
  return sent.id;
}

/** An image, a list and a template, in answer to a message. */
async function sendOthers(number_id: string, message_id: string): Promise<string[]> {
  const address = { number_id, to: RECIPIENT, context: { message_id } };
  const bodies: SendRequest[] = [
    { ...address, type: "image", image: { link: "https://example.com/a.png", caption: "A parcel" } },
    {
      ...address,
      type: "interactive",
      interactive: {
        type: "list",
        body: { text: "When?" },
        action: { button: "Pick", sections: [{ rows: [{ id: "1", title: "Morning" }] }] },
      },
    },
    {
      ...address,
      type: "template",
      template: {
        name: "order_update",
        language: { code: "en_US" },
        components: [{ type: "body", parameters: [{ type: "text", text: "Ana" }] }],
      },
    },
  ];
  const ids = [];
  for (const body of bodies) {
    const sent = expect(200, await gateway.POST("/messages/send", { body }));
    const path = { message_id: sent.id };
    const message = expect(200, await gateway.GET("/messages/{message_id}", { params: { path } }));
    assert.equal(message.type, body.type);
    assert.deepEqual(message.body, { ...body[body.type], context: body.context });
    ids.push(sent.id);
  }
  return ids;
}

async function followMessage(receiver: Receiver, webhook: Webhook, id: string): Promise<string[]> {
  const seen: string[] = [];
  for (const kind of ["message.sent", "message.delivered", "message.read"] as const) {
    const event = await receiver.take(kind, webhook.secret);
    assert.equal(event.data.id, id);
    assert.equal(event.data.direction, "OUTBOUND");
    seen.push(event.event);
  }
  return seen;
}

async function answerAsRecipient(
  receiver: Receiver,
  webhook: Webhook,
  to: string,
): Promise<unknown> {
  await sandbox("inbound", { to, from: RECIPIENT, type: "text", text: "Where is it?" });
  const { data } = await receiver.take("message.received", webhook.secret);
  assert.equal(data.fromNumber, RECIPIENT);
  return data.body["body"];
}

/** A picture goes up, comes in as a person's message, comes down again, and is marked as read. */
async function exchangePicture(
  receiver: Receiver,
  webhook: Webhook,
  number: components["schemas"]["Number"],
): Promise<string> {
  const form = new FormData();
  form.append("file", new Blob(["a picture"], { type: "image/png" }), "a.png");
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
  const { data } = await receiver.take("message.received", webhook.secret);
  const path = { message_id: data.id };
  const media = await gateway.GET("/messages/{message_id}/media", {
    params: { path },
    parseAs: "blob",
  });
  const marked = expect(200, await gateway.POST("/messages/{message_id}/read", { params: { path } }));
  assert.equal(marked.id, data.id);
  return await expect<Blob>(200, media).text();
}

async function refusedCode(): Promise<string> {
  const path = { number_id: "num_unknown" };
  const { error } = await gateway.GET("/numbers/{number_id}", { params: { path } });
  assert(error);
  return error.error.code;
}

async function run(receiver: Receiver): Promise<object> {
  const url = await receiver.listen();
  const number = await connect(setting("SLUG"));
  const created = expect(
    201,
    await gateway.POST("/webhooks", {
      body: {
        url,
        events: ["message.sent", "message.delivered", "message.read", "message.received"],
        numberIds: [number.id],
      },
    }),
  );
  const path = { webhook_id: created.id };
  const messageId = await send(number.id, "Your order has shipped.");
  const events = await followMessage(receiver, created, messageId);
  const inbound = await answerAsRecipient(receiver, created, number.phoneNumber);
  const picture = await exchangePicture(receiver, created, number);

  const rotated = expect(
    200,
    await gateway.POST("/webhooks/{webhook_id}/rotate-secret", { params: { path } }),
  );
  assert.notEqual(rotated.secret, created.secret);
  const later = await send(number.id, "It has arrived.");
  await followMessage(receiver, rotated, later);

  const test = expect(200, await gateway.POST("/webhooks/{webhook_id}/test", { params: { path } }));
  const sample = await receiver.take("message.sent", rotated.secret);
  const { response } = await gateway.DELETE("/webhooks/{webhook_id}", { params: { path } });
  const others = await sendOthers(number.id, later);
  return {
    numberId: number.id,
    messageIds: [messageId, later, ...others],
    events,
    inbound,
    picture,
    test: { success: test.success, statusCode: test.statusCode },
    sample: sample.event,
    refused: await refusedCode(),
    deleted: response.status,
  };
}

const receiver = new Receiver();
try {
  console.log(JSON.stringify(await run(receiver)));
} finally {
  receiver.close();
}
