/** Not part of the program: each marked line is a mistake that the types must catch. No other line is. */

import createClient from "openapi-fetch";

import type { components, paths } from "./contract.mjs";
import type { GatewayEvent } from "./receiver.mjs";

const gateway = createClient<paths>({ baseUrl: "http://127.0.0.1" });
const text = { body: "Hello" };
const params = { path: { webhook_id: "wh_1" } };

await gateway.GET("/nowhere"); // mistake: no such path
await gateway.DELETE("/numbers"); // mistake: no such method
await gateway.POST("/webhooks/{webhook_id}/test"); // mistake: the path parameter is missing
await gateway.POST("/webhooks/{webhook_id}/test", { params, body: {} }); // mistake: there is no body
await gateway.GET("/numbers", { params: { query: { limit: "20" } } }); // mistake: limit is a number
await gateway.GET("/messages", { params: { query: { status: "lost" } } }); // mistake: no such status
await gateway.POST("/messages/send", {
  body: { number_id: "num_1", to: "1", type: "fax", text }, // mistake: no such type
});
await gateway.POST("/messages/send", {
  body: { numberId: "num_1", to: "1", type: "text", text }, // mistake: it is spelt number_id
});
await gateway.POST("/messages/send", {
  body: { number_id: "num_1", to: "1", type: "image", text }, // mistake: an image has another content
});
await gateway.POST("/messages/send", {
  body: { number_id: "num_1", to: "1", type: "image", image: { caption: "A" } }, // mistake: no file
});
await gateway.POST("/webhooks", {
  body: { url: "https://example.com/" }, // mistake: events are required
});
await gateway.POST("/webhooks", {
  body: { url: "https://example.com/", events: ["message.lost"] }, // mistake: no such event
});
await gateway.PATCH("/webhooks/{webhook_id}", {
  params,
  body: { active: undefined }, // mistake: a property is given or left out
});

const { data } = await gateway.GET("/numbers");
data.data; // mistake: an error answer has no data
data?.data[0].id; // mistake: the page may be empty
data?.data[0]?.displayName.length; // mistake: the name may be null
data?.data[0]?.phone; // mistake: no such property

export function readEvent(event: GatewayEvent): string {
  if (event.event === "number.banned") return event.data.direction; // mistake: a number has none
  return event.data.direction; // mistake: other numbers' events are left
}

export const status: components["schemas"]["NumberStatus"] = "active"; // mistake: it is ACTIVE
