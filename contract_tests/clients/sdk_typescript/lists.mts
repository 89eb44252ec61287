/** Prints the identifiers of a list, page by page. The arguments are its name and its parameters. */

import { Client } from "@messaging-gateway/client";

const [, , name = "", args = "{}"] = process.argv;
const gateway = new Client({ baseUrl: process.env["BASE_URL"] ?? "", apiKey: process.env["API_KEY"] ?? "" });
const ids: string[] = [];
for await (const item of gateway.each(name as "listMessages", JSON.parse(args) as object)) ids.push(item.id);
process.stdout.write(JSON.stringify(ids));
