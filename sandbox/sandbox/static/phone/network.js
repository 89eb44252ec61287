// The page's requests to the sandbox. Every function throws an Error with a readable message.

export async function call(path, options) {
  let answer;
  try {
    answer = await fetch("/_sandbox/" + path, options);
  } catch {
    throw new Error("The sandbox does not answer.");
  }
  if (answer.status === 204) return null;
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(content.error?.message ?? `The sandbox answered ${answer.status}.`);
  return content;
}

// The end of a conversation, or null if it is unchanged since `version`.
export const conversation = query => call("conversation?" + new URLSearchParams(query));

export const write = message => call("inbound", {
  method: "POST",
  headers: {"Content-Type": "application/json"},
  body: JSON.stringify(message),
});

// Stores a file as a person's attachment. Returns its id, mime_type and sha256.
export const upload = (to, file) => call("media?" + new URLSearchParams({to}), {
  method: "POST",
  headers: {"Content-Type": file.type || "application/octet-stream"},
  body: file,
});
