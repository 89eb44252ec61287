/**
 * Not part of the program: the types must catch each of these mistakes, and nothing else.
 *
 * The compiler also reports a line that should be wrong but is not.
 */

import createClient from "openapi-fetch";

import type { components, paths } from "./contract.mjs";

const gateway = createClient<paths>({ baseUrl: "http://127.0.0.1" });
const text = { body: "Hello" };
const params = { path: { webhook_id: "wh_1" } };

// @ts-expect-error There is no such path.
await gateway.GET("/nowhere");
// @ts-expect-error There is no such method.
await gateway.DELETE("/numbers");
// @ts-expect-error The path parameter is missing.
await gateway.POST("/webhooks/{webhook_id}/test");
// @ts-expect-error There is no such event.
await gateway.POST("/webhooks/{webhook_id}/test", { params, body: { event: "message.lost" } });
// @ts-expect-error A limit is a number.
await gateway.GET("/numbers", { params: { query: { limit: "20" } } });
// @ts-expect-error There is no such status.
await gateway.GET("/messages", { params: { query: { status: "lost" } } });
await gateway.POST("/messages/send", {
  // @ts-expect-error There is no such type.
  body: { number_id: "num_1", to: "1", type: "fax", text },
});
await gateway.POST("/messages/send", {
  // @ts-expect-error The right name is number_id.
  body: { numberId: "num_1", to: "1", type: "text", text },
});
await gateway.POST("/messages/send", {
  // @ts-expect-error This is not the content of an image.
  body: { number_id: "num_1", to: "1", type: "image", text },
});
await gateway.POST("/messages/send", {
  // @ts-expect-error The image has neither link nor id.
  body: { number_id: "num_1", to: "1", type: "image", image: { caption: "A" } },
});
await gateway.POST("/messages/send", {
  // @ts-expect-error A text has no content except the text.
  body: { number_id: "num_1", to: "1", type: "text", text, image: { id: "1" } },
});
await gateway.POST("/webhooks", {
  // @ts-expect-error Events are required.
  body: { url: "https://example.com/" },
});
await gateway.POST("/webhooks", {
  // @ts-expect-error There is no such event.
  body: { url: "https://example.com/", events: ["message.lost"] },
});
await gateway.PATCH("/webhooks/{webhook_id}", {
  params,
  // @ts-expect-error A property may be omitted, but not undefined.
  body: { active: undefined },
});

const { data } = await gateway.GET("/numbers");
// @ts-expect-error An error response has no data.
data.data;
// @ts-expect-error The page may be empty.
data?.data[0].id;
// @ts-expect-error The name may be null.
data?.data[0]?.displayName.length;
// @ts-expect-error There is no such property.
data?.data[0]?.phone;

export function readEvent(event: components["schemas"]["Event"]): string {
  // @ts-expect-error A number has no direction.
  if (event.event === "number.banned") return event.data.direction;
  // @ts-expect-error Other number events remain possible.
  return event.data.direction;
}

// @ts-expect-error The right name is ACTIVE.
export const status: components["schemas"]["NumberStatus"] = "active";
