"use strict";
const data = document.body.dataset;
const sections = [...document.querySelectorAll("section[data-step]")];
const field = name => document.querySelector("[name=" + name + "]");
const chosen = name => document.querySelector("[name=" + name + "]:checked");
let current = sections[0];
let result = null;
let told = false;

function show(step) {
  current = sections.find(each => each.dataset.step === step);
  for (const each of sections) each.hidden = each !== current;
  document.getElementById("leave").hidden = step === "DONE";
  const first = current.querySelector("input:not([type=hidden]), button");
  if (first) first.focus();
}

function post(text) {
  if (window.opener) window.opener.postMessage(text, data.origin);
}

function postSignup(event, content) {
  post(JSON.stringify({type: "WA_EMBEDDED_SIGNUP", event, version: "3", data: content}));
}

function leave(event, content) {
  told = true;
  // Before the login there is no signup to cancel.
  if (event && current.dataset.step !== "LOGIN") postSignup(event, content);
  window.close();
}

function deliver() {
  if (told || result === null) return;
  told = true;
  const message = () => postSignup(result.event, result.data);
  const callback = () => post(new URLSearchParams({cb: data.state, code: result.code}).toString());
  for (const tell of field("callback_first").checked ? [callback, message] : [message, callback]) tell();
}

function pickBusiness() {
  const business = chosen("business").value;
  const choices = [...document.querySelectorAll("[data-waba]")];
  for (const each of choices) each.hidden = each.dataset.waba !== business;
  document.getElementById("two_step").hidden = business === "new";
  choices.find(each => !each.hidden).querySelector("input").checked = true;
}

function afterPicker() {
  return ["new", "app"].includes(chosen("phone_choice").value) ? "PHONE_NUMBER_SETUP" : "PERMISSIONS";
}

function order() {
  const phone = chosen("phone_choice");
  const base = {client_id: data.client, config_id: data.config};
  if (phone.value === "none") return {...base, only_waba: true};
  if (phone.value === "app") return {...base, app: true, phone: field("phone").value, display_name: field("display_name").value};
  if (phone.value !== "new") return {...base, phone: phone.value, reset_pin: field("reset_pin").checked};
  return {...base, phone: field("phone").value, display_name: field("display_name").value};
}

async function grant() {
  const problem = document.getElementById("problem");
  problem.textContent = "";
  try {
    const answer = await fetch("/_sandbox/dialog",
      {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(order())});
    const content = await answer.json();
    if (!answer.ok) { problem.textContent = content.error.message; return; }
    result = content;
    show("DONE");
  } catch { problem.textContent = "The sandbox does not answer."; }
}

const next = {
  LOGIN: () => show("BUSINESS_ACCOUNT_SELECTION"),
  BUSINESS_ACCOUNT_SELECTION: () => { pickBusiness(); show("WABA_PHONE_PROFILE_PICKER"); },
  WABA_PHONE_PROFILE_PICKER: () => show(afterPicker()),
  PHONE_NUMBER_SETUP: () => show("PHONE_NUMBER_VERIFICATION"),
  PHONE_NUMBER_VERIFICATION: () => show("PERMISSIONS"),
  PERMISSIONS: grant,
  DONE: () => { deliver(); window.close(); },
};

for (const section of sections) {
  section.querySelector("form").addEventListener("submit", event => {
    event.preventDefault();
    next[section.dataset.step]();
  });
}
document.getElementById("cancel").addEventListener("click",
  () => leave("CANCEL", {current_step: current.dataset.step}));
document.getElementById("report").addEventListener("submit", event => {
  event.preventDefault();
  leave("CANCEL", {
    error_message: field("error_message").value,
    error_code: field("error_code").value,
    session_id: data.state,
    timestamp: String(Math.floor(Date.now() / 1000)),
  });
});
// Closing the window on the last screen counts as finishing.
addEventListener("pagehide", deliver);
show("LOGIN");
