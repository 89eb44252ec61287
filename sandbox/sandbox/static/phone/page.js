// The page of phones: selects the business and the people, and polls for updates.

import { Phone } from "./phone.js";

const POLL = 1000, LOOK_FOR_NUMBERS = 3000;
const number = document.getElementById("number");
const people = document.getElementById("people");
const sections = [...document.querySelectorAll(".phone")];
const phones = sections.map(section => new Phone(section, business));
let labels = "";

function business() {
  const option = number.selectedOptions[0];
  return {id: number.value, digits: option?.dataset.digits ?? ""};
}

function address(persons) {
  return "?" + new URLSearchParams([["number", number.value], ...persons.map(each => ["person", each])]);
}

const persons = () => phones.map(each => each.person.value);

function drawChoices(content) {
  people.replaceChildren(...content.people.map(value => Object.assign(document.createElement("option"), {value})));
  const fresh = JSON.stringify(content.numbers);
  if (fresh === labels) return;
  labels = fresh;
  const chosen = number.value;
  number.replaceChildren(...content.numbers.map(option));
  number.value = chosen;
}

function option({id, label, display_phone_number: digits}) {
  const made = Object.assign(document.createElement("option"), {value: id, textContent: label});
  made.dataset.digits = digits;
  return made;
}

async function keepFresh() {
  if (document.visibilityState === "visible") await Promise.all(phones.map(refresh));
  setTimeout(keepFresh, POLL);
}

async function refresh(phone) {
  const content = await phone.refresh();
  if (content) drawChoices(content);
}

function choose(chosen) {
  history.replaceState(null, "", address(persons()));
  for (const phone of chosen) {
    phone.forget();
    refresh(phone);
  }
}

// Reload the page as soon as there is a number. If the sandbox restarts, wait for it.
async function lookForNumbers() {
  const answer = await fetch("/_sandbox/healthz").catch(() => null);
  if (answer?.ok && (await answer.json()).numbers > 0) location.reload();
  else setTimeout(lookForNumbers, LOOK_FOR_NUMBERS);
}

number.addEventListener("change", () => choose(phones));
document.getElementById("add").addEventListener("click", () => location.assign(address([...persons(), ""])));
phones.forEach((phone, index) => {
  phone.person.addEventListener("change", () => choose([phone]));
  sections[index].querySelector(".remove")?.addEventListener("click",
    () => location.assign(address(persons().filter((_, at) => at !== index))));
});
// Enable the controls now that they have listeners. Without one the browser would submit the form itself.
for (const each of document.querySelectorAll("button[disabled], input[disabled]")) each.disabled = false;
if (number.value) keepFresh();
else lookForNumbers();
