/**
 * Checks requests and events with the schemas of orval's zod client. Reads {"requests": [...], "events": [...]} from
 * stdin, and prints for each item whether it is accepted.
 */

import { readFileSync } from "node:fs";

import { GetDeliveryResponse, SendMessageBody } from "./client/zod";

// orval generates schemas for operations only. An event is the payload of a delivery.
const Event = GetDeliveryResponse.shape.payload;

const given: { requests: unknown[]; events: unknown[] } = JSON.parse(readFileSync(0, "utf8"));
const requests = given.requests.map((request) => SendMessageBody.safeParse(request).success);
const events = given.events.map((event) => Event.safeParse(event).success);
console.log(JSON.stringify({ requests, events }));
