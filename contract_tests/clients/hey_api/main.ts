/** A customer's code with the client of @hey-api/openapi-ts. It is compiled but not run. */

import { getNumber, sendMessage, type Event } from "./client";
import { client } from "./client/client.gen";

client.setConfig({ baseUrl: "https://gateway.example.com/api", auth: "mk_live_key" });

export async function send(number_id: string): Promise<string> {
  const to = "15551234567";
  const { data, error } = await sendMessage({
    body: { number_id, to, type: "text", text: { body: "Your order has shipped." } },
    headers: { "Idempotency-Key": "order-4711" },
  });
  if (error) throw new Error(error.error.message);
  await sendMessage({
    body: {
      number_id,
      to,
      type: "template",
      template: {
        name: "order_update",
        language: { code: "en_US" },
        components: [
          { type: "header", parameters: [{ type: "image", image: { link: "https://example.com/a.png" } }] },
          { type: "body", parameters: [{ type: "text", text: "Ana" }] },
        ],
      },
    },
  });
  return data.id;
}

export async function isUnknown(number_id: string): Promise<boolean> {
  const { error } = await getNumber({ path: { number_id } });
  return error?.error.code === "NOT_FOUND";
}

export function tell(event: Event): string {
  switch (event.event) {
    case "number.activated":
    case "number.disconnected":
    case "number.banned":
    case "number.updated":
      return event.data.phoneNumber;
    case "template.updated":
      return event.data.name;
    case "contact.updated":
    case "broadcast.started":
    case "broadcast.paused":
    case "broadcast.completed":
      return event.data.numberId;
    default:
      return event.data.fromNumber;
  }
}

// @ts-expect-error This is not the content of an image.
await sendMessage({ body: { number_id: "num_1", to: "15551234567", type: "image", text: { body: "Hello" } } });
