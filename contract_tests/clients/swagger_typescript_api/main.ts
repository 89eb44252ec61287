/** A customer's program with the client that swagger-typescript-api generates. */

import {
  Api,
  DeliveryState,
  EventKind,
  TemplateButtonKind,
  TemplateCategory,
  type ErrorResponse,
  type Event,
  type HttpResponse,
} from "./client/Api";
import { print, setting } from "./story";

const api = new Api<string>({
  baseUrl: setting("BASE_URL"),
  securityWorker: (key) => ({ headers: { Authorization: `Bearer ${key}` } }),
});
api.setSecurityData(setting("API_KEY"));

print({
  quickReply: TemplateButtonKind.QuickReply,
  utility: TemplateCategory.UTILITY,
  parse: (event) => event as Event,
  signupLink: async (slug) => (await api.signup.getSignupLink(slug)).data,
  completeSignup: async (slug, claim) => (await api.signup.completeSignup(slug, claim)).data,
  createWebhook: async (url, key) => {
    const headers = { "Idempotency-Key": key };
    return (await api.webhooks.createWebhook({ url, events: Object.values(EventKind) }, { headers })).data;
  },
  rotateSecret: async (webhook) => (await api.webhooks.rotateWebhookSecret(webhook)).data,
  testWebhook: async (webhook) =>
    (await api.webhooks.testWebhook(webhook, { event: EventKind.NumberBanned })).data,
  deleteWebhook: (webhook) => api.webhooks.deleteWebhook(webhook),
  newestPayload: async (webhook) => {
    const { data: page } = await api.webhooks.listWebhookDeliveries(webhook, { limit: 1 });
    return (await api.deliveries.getDelivery(page.data[0]!.id)).data.payload;
  },
  failedDeliveries: async (webhook) =>
    (await api.webhooks.listWebhookDeliveries(webhook, { status: DeliveryState.DELIVERY_FAILED })).data,
  readDeliveries: async (webhook, since) =>
    (await api.webhooks.listWebhookDeliveries(webhook, { event: EventKind.MessageRead, since })).data,
  outcomes: async (since) =>
    (await api.events.listEvents({ event: [EventKind.MessageRead, EventKind.MessageFailed], since })).data,
  createTemplate: async (number, draft, key) => {
    const headers = { "Idempotency-Key": key };
    return (await api.numbers.createTemplate(number, draft, { headers })).data;
  },
  send: async (message, key) => {
    const headers = key === undefined ? {} : { "Idempotency-Key": key };
    return (await api.messages.sendMessage(message, { headers })).data;
  },
  message: async (id) => (await api.messages.getMessage(id)).data,
  upload: async (number, file) => (await api.numbers.uploadMedia(number, { file })).data,
  download: async (message) => await (await api.messages.downloadMedia(message)).data.text(),
  refusal: async (number) => {
    const refused = await api.numbers.getNumber(number).catch((answer: HttpResponse<never, ErrorResponse>) => answer);
    return refused.error.error;
  },
});
