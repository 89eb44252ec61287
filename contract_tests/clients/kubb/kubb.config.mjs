import { defineConfig } from "@kubb/core";
import { pluginClient } from "@kubb/plugin-client";
import { pluginOas } from "@kubb/plugin-oas";
import { pluginTs } from "@kubb/plugin-ts";

export default defineConfig({
  input: { path: process.env["CONTRACT"] },
  output: { path: "client", format: false, lint: false },
  plugins: [pluginOas({ generators: [] }), pluginTs(), pluginClient()],
});
