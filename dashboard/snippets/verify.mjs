import { createHmac, timingSafeEqual } from "node:crypto";

export function isAuthentic(secret, body, header) {
  const digest = createHmac("sha256", secret).update(body).digest("hex");
  const expected = Buffer.from(`sha256=${digest}`);
  const given = Buffer.from(header);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
