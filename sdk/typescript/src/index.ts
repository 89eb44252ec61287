/** Client of the Messaging Gateway. */

export { Client, type FollowOptions, type Place, type Settings } from "./client.js";
export { ApiError, ConnectionError, GatewayError, SignatureError, TimeoutError, UnexpectedResponseError } from "./errors.js";
export type { Methods, StreamArgs } from "./generated/operations.js";
export type * from "./types.js";
export { verifyAndParse, type HeaderSource, type VerifyOptions } from "./webhooks.js";
