/** Prints each event of the account as a line of JSON. The file of the second argument has the place. */

import { Client } from "@messaging-gateway/client";
import { fileAt } from "@messaging-gateway/client/node";

const [, , baseUrl = "", place = ""] = process.argv;
const gateway = new Client({ baseUrl, apiKey: process.env["API_KEY"] ?? "" });
for await (const event of gateway.follow({ kind: ["message.sent"] }, { place: fileAt(place) })) {
  process.stdout.write(`${JSON.stringify([event.id, event.event === "message.sent" && event.data.id])}\n`);
}
