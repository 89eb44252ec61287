/** Generated from openapi.yaml by `make sdk`. */

import type { CallOptions, Schemas } from "../types.js";
import type { operations } from "./contract.js";

export const VERSION = "1.0.0";

/** The method, the path, the result, and 1 if the operation takes an `Idempotency-Key`. */
export type Operation = readonly [
  method: string,
  path: string,
  result: "json" | "none" | "text" | "file" | "stream",
  takesKey: 0 | 1,
];

type Query<K extends keyof operations> = NonNullable<operations[K]["parameters"]["query"]>;
type Path<K extends keyof operations> = NonNullable<operations[K]["parameters"]["path"]>;
export type StreamArgs = Query<"streamEvents">;

/** A function for each operation. */
export interface Methods {
  /** List numbers. */
  listNumbers(args?: Query<"listNumbers">, options?: CallOptions): Promise<Schemas["NumberPage"]>;
  /** Read a number. */
  getNumber(args: Path<"getNumber">, options?: CallOptions): Promise<Schemas["ConnectedNumber"]>;
  /** Upload media. */
  uploadMedia(args: Path<"uploadMedia"> & Query<"uploadMedia"> & { body: { file: Blob } }, options?: CallOptions): Promise<Schemas["UploadedMedia"]>;
  /** Read the business profile. */
  getNumberProfile(args: Path<"getNumberProfile">, options?: CallOptions): Promise<Schemas["BusinessProfile"]>;
  /** Change the business profile. */
  updateNumberProfile(args: Path<"updateNumberProfile"> & { body: Schemas["UpdateProfileRequest"] }, options?: CallOptions): Promise<Schemas["BusinessProfile"]>;
  /** List blocked people. */
  listBlocked(args: Path<"listBlocked"> & Query<"listBlocked">, options?: CallOptions): Promise<Schemas["BlockedPage"]>;
  /** Block people. */
  blockPeople(args: Path<"blockPeople"> & { body: Schemas["BlockPeopleRequest"] }, options?: CallOptions): Promise<Schemas["BlockPeopleResult"]>;
  /** Unblock a person. */
  unblockPerson(args: Path<"unblockPerson">, options?: CallOptions): Promise<void>;
  /** List templates. */
  listTemplates(args: Path<"listTemplates"> & Query<"listTemplates">, options?: CallOptions): Promise<Schemas["TemplatePage"]>;
  /** Create a template. */
  createTemplate(args: Path<"createTemplate"> & { idempotencyKey?: string } & { body: Schemas["CreateTemplateRequest"] }, options?: CallOptions): Promise<Schemas["Template"]>;
  /** Delete a template. */
  deleteTemplate(args: Path<"deleteTemplate"> & Query<"deleteTemplate">, options?: CallOptions): Promise<void>;
  /** Edit a template. */
  updateTemplate(args: Path<"updateTemplate"> & { body: Schemas["UpdateTemplateRequest"] }, options?: CallOptions): Promise<Schemas["Template"]>;
  /** Read the templates again. */
  refreshTemplates(args: Path<"refreshTemplates">, options?: CallOptions): Promise<void>;
  /** Send a message. */
  sendMessage(args: { idempotencyKey?: string } & { body: Schemas["SendMessageRequest"] }, options?: CallOptions): Promise<Schemas["SentMessage"]>;
  /** List messages. */
  listMessages(args?: Query<"listMessages">, options?: CallOptions): Promise<Schemas["MessagePage"]>;
  /** Read a message. */
  getMessage(args: Path<"getMessage">, options?: CallOptions): Promise<Schemas["MessageDetail"]>;
  /** Download media. */
  downloadMedia(args: Path<"downloadMedia">, options?: CallOptions): Promise<File>;
  /** Mark a message as read. */
  markMessageRead(args: Path<"markMessageRead"> & { body?: Schemas["MarkReadRequest"] }, options?: CallOptions): Promise<Schemas["Message"]>;
  /** List contacts. */
  listContacts(args?: Query<"listContacts">, options?: CallOptions): Promise<Schemas["ContactPage"]>;
  /** Read a contact. */
  getContact(args: Path<"getContact">, options?: CallOptions): Promise<Schemas["ContactDetail"]>;
  /** Change a contact. */
  updateContact(args: Path<"updateContact"> & { body: Schemas["UpdateContactRequest"] }, options?: CallOptions): Promise<Schemas["ContactDetail"]>;
  /** Erase a contact. */
  deleteContact(args: Path<"deleteContact">, options?: CallOptions): Promise<void>;
  /** List broadcasts. */
  listBroadcasts(args?: Query<"listBroadcasts">, options?: CallOptions): Promise<Schemas["BroadcastPage"]>;
  /** Create a broadcast. */
  createBroadcast(args: { idempotencyKey?: string } & { body: Schemas["CreateBroadcastRequest"] }, options?: CallOptions): Promise<Schemas["Broadcast"]>;
  /** Read a broadcast. */
  getBroadcast(args: Path<"getBroadcast">, options?: CallOptions): Promise<Schemas["Broadcast"]>;
  /** List recipients. */
  listBroadcastRecipients(args: Path<"listBroadcastRecipients"> & Query<"listBroadcastRecipients">, options?: CallOptions): Promise<Schemas["BroadcastRecipientPage"]>;
  /** Start a broadcast. */
  startBroadcast(args: Path<"startBroadcast">, options?: CallOptions): Promise<Schemas["Broadcast"]>;
  /** Pause a broadcast. */
  pauseBroadcast(args: Path<"pauseBroadcast">, options?: CallOptions): Promise<Schemas["Broadcast"]>;
  /** Resume a broadcast. */
  resumeBroadcast(args: Path<"resumeBroadcast">, options?: CallOptions): Promise<Schemas["Broadcast"]>;
  /** Cancel a broadcast. */
  cancelBroadcast(args: Path<"cancelBroadcast">, options?: CallOptions): Promise<Schemas["Broadcast"]>;
  /** Send it to one person. */
  testBroadcast(args: Path<"testBroadcast"> & { body: Schemas["TestBroadcastRequest"] }, options?: CallOptions): Promise<Schemas["SentMessage"]>;
  /** List suppressions. */
  listSuppressions(args?: Query<"listSuppressions">, options?: CallOptions): Promise<Schemas["SuppressionPage"]>;
  /** Suppress a person. */
  createSuppression(args: { body: Schemas["CreateSuppressionRequest"] }, options?: CallOptions): Promise<Schemas["Suppression"]>;
  /** Import suppressions. */
  importSuppressions(args: { body: { file: Blob } }, options?: CallOptions): Promise<Schemas["ImportedSuppressions"]>;
  /** Export suppressions. */
  exportSuppressions(args?: Record<never, never>, options?: CallOptions): Promise<string>;
  /** End a suppression. */
  deleteSuppression(args: Path<"deleteSuppression">, options?: CallOptions): Promise<void>;
  /** Upload recipients. */
  uploadRecipients(args: Query<"uploadRecipients"> & { body: { file: Blob } }, options?: CallOptions): Promise<Schemas["RecipientsFile"]>;
  /** Get a file of recipients. */
  getRecipientsFile(args: Path<"getRecipientsFile">, options?: CallOptions): Promise<Schemas["RecipientsFile"]>;
  /** List webhooks. */
  listWebhooks(args?: Query<"listWebhooks">, options?: CallOptions): Promise<Schemas["WebhookPage"]>;
  /** Create a webhook. */
  createWebhook(args: { idempotencyKey?: string } & { body: Schemas["CreateWebhookRequest"] }, options?: CallOptions): Promise<Schemas["Webhook"]>;
  /** Read a webhook. */
  getWebhook(args: Path<"getWebhook">, options?: CallOptions): Promise<Schemas["Webhook"]>;
  /** Change a webhook. */
  updateWebhook(args: Path<"updateWebhook"> & { body: Schemas["UpdateWebhookRequest"] }, options?: CallOptions): Promise<Schemas["Webhook"]>;
  /** Delete a webhook. */
  deleteWebhook(args: Path<"deleteWebhook">, options?: CallOptions): Promise<void>;
  /** Rotate the signing secret. */
  rotateWebhookSecret(args: Path<"rotateWebhookSecret">, options?: CallOptions): Promise<Schemas["Webhook"]>;
  /** Send a test delivery. */
  testWebhook(args: Path<"testWebhook"> & { body?: Schemas["TestWebhookRequest"] }, options?: CallOptions): Promise<Schemas["WebhookTestResult"]>;
  /** List deliveries of a webhook. */
  listWebhookDeliveries(args: Path<"listWebhookDeliveries"> & Query<"listWebhookDeliveries">, options?: CallOptions): Promise<Schemas["DeliveryPage"]>;
  /** Redeliver many. */
  redeliverWebhookDeliveries(args: Path<"redeliverWebhookDeliveries"> & { body: Schemas["RedeliverRequest"] }, options?: CallOptions): Promise<Schemas["RedeliverResult"]>;
  /** Read a delivery. */
  getDelivery(args: Path<"getDelivery">, options?: CallOptions): Promise<Schemas["DeliveryDetail"]>;
  /** Redeliver one. */
  redeliverDelivery(args: Path<"redeliverDelivery">, options?: CallOptions): Promise<Schemas["Delivery"]>;
  /** List events. */
  listEvents(args?: Query<"listEvents">, options?: CallOptions): Promise<Schemas["EventPage"]>;
  /** List usage. */
  listUsage(args?: Query<"listUsage">, options?: CallOptions): Promise<Schemas["UsagePage"]>;
  /** Export usage. */
  exportUsage(args?: Query<"exportUsage">, options?: CallOptions): Promise<string>;
  /** List changes. */
  listAudit(args?: Query<"listAudit">, options?: CallOptions): Promise<Schemas["AuditPage"]>;
  /** Read a signup link. */
  getSignupLink(args: Path<"getSignupLink">, options?: CallOptions): Promise<Schemas["SignupLink"]>;
  /** Complete a signup. */
  completeSignup(args: Path<"completeSignup"> & { body: Schemas["CompleteSignupRequest"] }, options?: CallOptions): Promise<Schemas["ConnectedNumber"]>;
}

export const OPERATIONS = {
  listNumbers: ["GET", "/numbers", "json", 0],
  getNumber: ["GET", "/numbers/{number_id}", "json", 0],
  uploadMedia: ["POST", "/numbers/{number_id}/media", "json", 0],
  getNumberProfile: ["GET", "/numbers/{number_id}/profile", "json", 0],
  updateNumberProfile: ["PATCH", "/numbers/{number_id}/profile", "json", 0],
  listBlocked: ["GET", "/numbers/{number_id}/blocked", "json", 0],
  blockPeople: ["POST", "/numbers/{number_id}/blocked", "json", 0],
  unblockPerson: ["DELETE", "/numbers/{number_id}/blocked/{person}", "none", 0],
  listTemplates: ["GET", "/numbers/{number_id}/templates", "json", 0],
  createTemplate: ["POST", "/numbers/{number_id}/templates", "json", 1],
  deleteTemplate: ["DELETE", "/numbers/{number_id}/templates", "none", 0],
  updateTemplate: ["PATCH", "/numbers/{number_id}/templates/{template_id}", "json", 0],
  refreshTemplates: ["POST", "/numbers/{number_id}/templates/refresh", "none", 0],
  sendMessage: ["POST", "/messages/send", "json", 1],
  listMessages: ["GET", "/messages", "json", 0],
  getMessage: ["GET", "/messages/{message_id}", "json", 0],
  downloadMedia: ["GET", "/messages/{message_id}/media", "file", 0],
  markMessageRead: ["POST", "/messages/{message_id}/read", "json", 0],
  listContacts: ["GET", "/contacts", "json", 0],
  getContact: ["GET", "/contacts/{contact_id}", "json", 0],
  updateContact: ["PATCH", "/contacts/{contact_id}", "json", 0],
  deleteContact: ["DELETE", "/contacts/{contact_id}", "none", 0],
  listBroadcasts: ["GET", "/broadcasts", "json", 0],
  createBroadcast: ["POST", "/broadcasts", "json", 1],
  getBroadcast: ["GET", "/broadcasts/{broadcast_id}", "json", 0],
  listBroadcastRecipients: ["GET", "/broadcasts/{broadcast_id}/recipients", "json", 0],
  startBroadcast: ["POST", "/broadcasts/{broadcast_id}/start", "json", 0],
  pauseBroadcast: ["POST", "/broadcasts/{broadcast_id}/pause", "json", 0],
  resumeBroadcast: ["POST", "/broadcasts/{broadcast_id}/resume", "json", 0],
  cancelBroadcast: ["POST", "/broadcasts/{broadcast_id}/cancel", "json", 0],
  testBroadcast: ["POST", "/broadcasts/{broadcast_id}/test", "json", 0],
  listSuppressions: ["GET", "/suppressions", "json", 0],
  createSuppression: ["POST", "/suppressions", "json", 0],
  importSuppressions: ["POST", "/suppressions/import", "json", 0],
  exportSuppressions: ["GET", "/suppressions/export", "text", 0],
  deleteSuppression: ["DELETE", "/suppressions/{suppression_id}", "none", 0],
  uploadRecipients: ["POST", "/broadcasts/files", "json", 0],
  getRecipientsFile: ["GET", "/recipient-files/{file_id}", "json", 0],
  listWebhooks: ["GET", "/webhooks", "json", 0],
  createWebhook: ["POST", "/webhooks", "json", 1],
  getWebhook: ["GET", "/webhooks/{webhook_id}", "json", 0],
  updateWebhook: ["PATCH", "/webhooks/{webhook_id}", "json", 0],
  deleteWebhook: ["DELETE", "/webhooks/{webhook_id}", "none", 0],
  rotateWebhookSecret: ["POST", "/webhooks/{webhook_id}/rotate-secret", "json", 0],
  testWebhook: ["POST", "/webhooks/{webhook_id}/test", "json", 0],
  listWebhookDeliveries: ["GET", "/webhooks/{webhook_id}/deliveries", "json", 0],
  redeliverWebhookDeliveries: ["POST", "/webhooks/{webhook_id}/redeliver", "json", 0],
  getDelivery: ["GET", "/deliveries/{delivery_id}", "json", 0],
  redeliverDelivery: ["POST", "/deliveries/{delivery_id}/redeliver", "json", 0],
  listEvents: ["GET", "/events", "json", 0],
  streamEvents: ["GET", "/events/stream", "stream", 0],
  listUsage: ["GET", "/usage", "json", 0],
  exportUsage: ["GET", "/usage.csv", "text", 0],
  listAudit: ["GET", "/audit", "json", 0],
  getSignupLink: ["GET", "/signup/{slug}", "json", 0],
  completeSignup: ["POST", "/signup/{slug}/complete", "json", 0],
} as const satisfies Record<keyof operations, Operation>;
