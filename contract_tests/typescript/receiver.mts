/** A customer's HTTP server: takes the signed events of one webhook. */

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import type { components } from "./contract.mjs";

type Schemas = components["schemas"];

/** Every event that the contract describes; the field `event` tells them apart. */
export type GatewayEvent =
  | Schemas["MessageReceivedEvent"]
  | Schemas["MessageSentEvent"]
  | Schemas["MessageDeliveredEvent"]
  | Schemas["MessageReadEvent"]
  | Schemas["MessageFailedEvent"]
  | Schemas["NumberActivatedEvent"]
  | Schemas["NumberDisconnectedEvent"]
  | Schemas["NumberBannedEvent"];

type Kind = GatewayEvent["event"];
type EventOf<K extends Kind> = Extract<GatewayEvent, { event: K }>;

interface Delivery {
  readonly raw: Buffer;
  readonly signature: string;
}

const PATIENCE_MS = 20_000;

/** Whether the signature fits the raw bytes. */
export function isAuthentic(secret: string, { raw, signature }: Delivery): boolean {
  const expected = Buffer.from(`sha256=${createHmac("sha256", secret).update(raw).digest("hex")}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

export class Receiver {
  readonly #deliveries: Delivery[] = [];
  readonly #server: Server;
  #wake: () => void = () => {};

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const signature = String(request.headers["x-service-signature"]);
        this.#deliveries.push({ raw: Buffer.concat(chunks), signature });
        response.writeHead(204).end();
        this.#wake();
      });
    });
  }

  /** Starts to listen, and tells the address to register. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/events`;
  }

  /** Takes the first event of a kind off the pile, as soon as it is there and signed with the secret. */
  async take<K extends Kind>(kind: K, secret: string): Promise<EventOf<K>> {
    const deadline = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      for (const [index, delivery] of this.#deliveries.entries()) {
        const event = JSON.parse(delivery.raw.toString("utf8")) as GatewayEvent;
        if (event.event !== kind) continue;
        if (!isAuthentic(secret, delivery)) throw new Error(`${kind}: the signature is wrong`);
        this.#deliveries.splice(index, 1);
        return event as EventOf<K>;
      }
      await this.#next(deadline, kind);
    }
  }

  async #next(deadline: AbortSignal, kind: Kind): Promise<void> {
    deadline.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      this.#wake = resolve;
      deadline.addEventListener("abort", () => reject(new Error(`${kind} did not arrive`)));
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
