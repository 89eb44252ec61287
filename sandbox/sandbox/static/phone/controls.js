// Each form is posted as JSON to the control path that it names. Then the page shows the new state.

import { call } from "./network.js";

const said = document.getElementById("said");
const read = {
  switch: field => field.checked,
  number: field => field.value === "" ? null : Number(field.value),
  json: field => JSON.parse(field.value),
};

function content(form) {
  const fields = [...form.elements].filter(field => field.name);
  return Object.fromEntries(fields.map(field => [field.name, (read[field.dataset.kind] ?? (() => field.value))(field)]));
}

function say(text, bad) {
  said.textContent = text;
  said.classList.toggle("bad", bad);
  said.focus();
}

async function show() {
  const text = await (await fetch(location.href)).text();
  document.querySelector("main").replaceWith(new DOMParser().parseFromString(text, "text/html").querySelector("main"));
}

document.addEventListener("submit", async event => {
  event.preventDefault();
  const form = event.target;
  const options = {headers: {"Content-Type": "application/json"}, body: JSON.stringify(content(form))};
  try {
    await call(form.dataset.path, {method: form.dataset.method, ...options});
    await show();
    say("Done.", false);
  } catch (error) {
    say(error.message, true);
  }
});
