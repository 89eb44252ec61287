/** Not part of the program: the types must catch each of these mistakes, and nothing else. */

import { Client, type StoredEvent } from "@messaging-gateway/client";

const gateway = new Client({ baseUrl: "http://127.0.0.1/api", apiKey: "key" });
const text = { body: "Hello" };

// @ts-expect-error There is no such operation.
await gateway.listNothing();
// @ts-expect-error The identifier is missing.
await gateway.getNumber();
// @ts-expect-error The identifier has another name.
await gateway.getNumber({ id: "num_1" });
// @ts-expect-error A limit is a number.
await gateway.listNumbers({ limit: "20" });
// @ts-expect-error There is no such status.
await gateway.listMessages({ status: "lost" });
// @ts-expect-error This operation takes no key.
await gateway.rotateWebhookSecret({ webhook_id: "wh_1", idempotencyKey: "1" });
// @ts-expect-error This is not the content of an image.
await gateway.sendMessage({ body: { number_id: "num_1", to: "1", type: "image", text } });
// @ts-expect-error A property may be omitted, but not undefined.
await gateway.updateWebhook({ webhook_id: "wh_1", body: { active: undefined } });
// @ts-expect-error This is no list.
gateway.each("getNumber", { number_id: "num_1" });
// @ts-expect-error A file is no text.
await gateway.uploadMedia({ number_id: "num_1", body: { file: "photo.jpg" } });
// @ts-expect-error The page may be empty.
(await gateway.listNumbers()).data[0].id;
for await (const number of gateway.each("listNumbers")) {
  // @ts-expect-error The name may be null.
  number.displayName.length;
}

export function readEvent(event: StoredEvent): string {
  // @ts-expect-error A number has no direction.
  if (event.event === "number.banned") return event.data.direction;
  // @ts-expect-error Other number events remain possible.
  return event.data.direction;
}
