/** A place in a file, for `follow()` in Node.js and Deno. */

import { readFile, rename, writeFile } from "node:fs/promises";

import type { Place } from "./client.js";

/** Keeps the position in a file, which a killed program leaves whole. */
export function fileAt(path: string): Place {
  return {
    async load(): Promise<string | undefined> {
      try {
        return (await readFile(path, "utf8")) || undefined;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    async save(cursor: string): Promise<void> {
      await writeFile(`${path}.new`, cursor);
      await rename(`${path}.new`, path);
    },
  };
}
