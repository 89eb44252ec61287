/** A customer's program with the client for Zodios that openapi-zod-client generates. */

import assert from "node:assert/strict";

import { isAxiosError } from "axios";

import { createApiClient, schemas } from "./client";
import { print, setting } from "./story";

const axiosConfig = {
  headers: { Authorization: `Bearer ${setting("API_KEY")}` },
  // Repeats a parameter with a list, without brackets.
  paramsSerializer: { indexes: null },
};
const api = createApiClient(setting("BASE_URL"), { axiosConfig });
// The client has no schema for the body of a file, and refuses it.
const files = createApiClient(setting("BASE_URL"), { axiosConfig, validate: "request" });

print({
  quickReply: "quick_reply",
  utility: "UTILITY",
  parse: (event) => schemas.Event.parse(event),
  signupLink: (slug) => api.getSignupLink({ params: { slug } }),
  completeSignup: (slug, claim) => api.completeSignup(claim, { params: { slug } }),
  createWebhook: (url, key) => {
    const headers = { "Idempotency-Key": key };
    return api.createWebhook({ url, events: schemas.EventKind.options }, { headers });
  },
  rotateSecret: (webhook_id) => api.rotateWebhookSecret(undefined, { params: { webhook_id } }),
  testWebhook: (webhook_id) =>
    api.testWebhook({ event: "number.banned" }, { params: { webhook_id } }),
  deleteWebhook: (webhook_id) => api.deleteWebhook(undefined, { params: { webhook_id } }),
  newestPayload: async (webhook_id) => {
    const queries = { limit: 1 };
    const page = await api.listWebhookDeliveries({ params: { webhook_id }, queries });
    return (await api.getDelivery({ params: { delivery_id: page.data[0]!.id } })).payload;
  },
  failedDeliveries: (webhook_id) =>
    api.listWebhookDeliveries({ params: { webhook_id }, queries: { status: "failed" } }),
  readDeliveries: (webhook_id, since) =>
    api.listWebhookDeliveries({ params: { webhook_id }, queries: { event: "message.read", since } }),
  outcomes: (since) => api.listEvents({ queries: { event: ["message.read", "message.failed"], since } }),
  createTemplate: (number_id, draft, key) =>
    api.createTemplate(draft, { params: { number_id }, headers: { "Idempotency-Key": key } }),
  send: (message, key) => api.sendMessage(message, { headers: { "Idempotency-Key": key } }),
  message: (message_id) => api.getMessage({ params: { message_id } }),
  upload: (number_id, file) => api.uploadMedia({ file }, { params: { number_id } }),
  download: async (message_id) => {
    const request = { params: { message_id }, responseType: "arraybuffer" } as const;
    const file: unknown = await files.downloadMedia(request);
    assert(file instanceof Buffer);
    return file.toString();
  },
  refusal: async (number_id) => {
    const refused: unknown = await api.getNumber({ params: { number_id } }).catch((error: unknown) => error);
    if (!isAxiosError(refused) || !refused.response) throw refused;
    return schemas.ErrorResponse.parse(refused.response.data).error;
  },
});
