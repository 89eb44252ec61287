/** Server-sent events: the blocks of a response. */

import { parsed, unexpected } from "./errors.js";
import type { StoredEvent } from "./types.js";

/** A position of the stream, with the event before it unless only the position has changed. */
export interface Block {
  cursor: string;
  event?: StoredEvent;
}

// More characters than an event can have.
const LONGEST_BLOCK = 4 * 1024 * 1024;

/** The blocks as they come. `alive` is called for each piece of data. A block without an end is left out. */
export async function* blocksOf(response: Response, alive: () => void): AsyncGenerator<Block, void, undefined> {
  const type = response.headers.get("Content-Type") ?? "";
  if (!/^text\/event-stream\b/i.test(type)) throw unexpected(response, "no stream of events");
  let [id, data] = ["", ""];
  for await (const line of linesOf(response, alive)) {
    if (line.startsWith("data:")) data += `\n${line.slice(5)}`;
    else if (line.startsWith("id:")) id = line.slice(3).trim();
    else if (line === "") {
      if (data) yield eventOf(response, data);
      else if (id) yield { cursor: id };
      [id, data] = ["", ""];
    }
    if (data.length > LONGEST_BLOCK) throw unexpected(response, "an event that is too long");
  }
}

/** The lines of the stream. Only CR, LF and CRLF end one. */
async function* linesOf(response: Response, alive: () => void): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let [rest, isCut] = ["", false];
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {};
    if (done) return;
    alive();
    const text = decoder.decode(value, { stream: true });
    // The LF of a CRLF may come later than its CR.
    const lines = (rest + (isCut ? text.replace(/^\n/, "") : text)).split(/\r\n|\n|\r/);
    [rest, isCut] = [lines.pop() ?? "", text ? text.endsWith("\r") : isCut];
    if (rest.length > LONGEST_BLOCK) throw unexpected(response, "a line that is too long");
    yield* lines;
  }
}

function eventOf(response: Response, data: string): Required<Block> {
  const event = (parsed(data) ?? {}) as StoredEvent;
  const texts = [event.id, event.cursor, event.event, event.timestamp];
  if (texts.every((each) => typeof each === "string") && typeof event.data === "object" && event.data) {
    return { cursor: event.cursor, event };
  }
  throw unexpected(response, "an event that cannot be read");
}
