/** A customer's program with the client that Kubb generates. */

import assert from "node:assert/strict";

import { setConfig } from "@kubb/plugin-client/clients/axios";
import { isAxiosError } from "axios";

import * as api from "./client/index.ts";
import { print, setting } from "./story.ts";

setConfig({
  baseURL: setting("BASE_URL"),
  headers: { Authorization: `Bearer ${setting("API_KEY")}` },
  // Repeats a parameter with a list, without brackets.
  paramsSerializer: { indexes: null },
});

print({
  quickReply: "quick_reply",
  utility: "UTILITY",
  parse: (event) => event as api.Event,
  signupLink: (slug) => api.getSignupLink(slug),
  completeSignup: (slug, claim) => api.completeSignup(slug, claim),
  createWebhook: (url, key) =>
    api.createWebhook({ url, events: Object.values(api.eventKindEnum) }, { "Idempotency-Key": key }),
  rotateSecret: (webhook) => api.rotateWebhookSecret(webhook),
  testWebhook: (webhook) => api.testWebhook(webhook, { event: "number.banned" }),
  deleteWebhook: (webhook) => api.deleteWebhook(webhook),
  newestPayload: async (webhook) => {
    const page = await api.listWebhookDeliveries(webhook, { limit: 1 });
    return (await api.getDelivery(page.data[0]!.id)).payload;
  },
  failedDeliveries: (webhook) => api.listWebhookDeliveries(webhook, { status: "failed" }),
  readDeliveries: (webhook, since) => api.listWebhookDeliveries(webhook, { event: "message.read", since }),
  outcomes: (since) => api.listEvents({ event: ["message.read", "message.failed"], since }),
  createTemplate: (number, draft, key) => api.createTemplate(number, draft, { "Idempotency-Key": key }),
  send: (message, key) =>
    api.sendMessage(message, key === undefined ? {} : { "Idempotency-Key": key }),
  message: (id) => api.getMessage(id),
  upload: (number, file) => api.uploadMedia(number, { file }),
  download: async (message) => {
    // Axios has no Blob in Node.js.
    const file: unknown = await api.downloadMedia(message, { responseType: "arraybuffer" });
    assert(file instanceof Buffer);
    return file.toString();
  },
  refusal: async (number) => {
    const refused: unknown = await api.getNumber(number).catch((error: unknown) => error);
    if (!isAxiosError<api.ErrorResponse>(refused) || !refused.response) throw refused;
    return refused.response.data.error;
  },
});
