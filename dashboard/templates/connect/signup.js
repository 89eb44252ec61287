"use strict";
const page = document.getElementById("connect");
const config = page.dataset;
const button = document.getElementById("start");
const sections = [...page.querySelectorAll("[data-state]")];
const SDK_PATIENCE = 15000;
// The message and the callback arrive in any order, shortly after each other.
const OTHER_HALF_PATIENCE = 5000;
const MESSAGE_GRACE = 500;

let state = "invite";
let attempt = 0;
let claim = {};

function show(next) {
  state = next;
  for (const each of sections) each.hidden = each.dataset.state !== next;
  const busy = next === "connecting";
  button.hidden = busy || next === "no-sdk";
  document.getElementById("reload").hidden = next !== "no-sdk";
  button.textContent = {invite: "Connect with WhatsApp", waiting: "Open the window again"}[next] || "Start again";
  button.classList.toggle("quiet", next === "waiting");
  if (next !== "invite") page.querySelector('[data-state="' + next + '"] h1').focus();
}

function ready() {
  FB.init({appId: config.appId, version: config.version, xfbml: false, autoLogAppEvents: false});
  button.disabled = false;
  show("invite");
}

function loadSdk() {
  const script = document.createElement("script");
  window.fbAsyncInit = ready;
  script.src = config.sdk;
  script.async = true;
  script.crossOrigin = "anonymous";
  script.addEventListener("error", () => show("no-sdk"));
  document.head.append(script);
  setTimeout(() => { if (button.disabled) show("no-sdk"); }, SDK_PATIENCE);
}

// The platform's SDK does not report a blocked window, so this script wraps window.open to detect it.
function watchWindow(call) {
  const open = window.open;
  let opened;
  window.open = (...given) => { opened = open.apply(window, given); return opened; };
  try { call(); } finally { window.open = open; }
  return opened;
}

function start() {
  const ours = attempt += 1;
  claim = {};
  show("waiting");
  const opened = watchWindow(() => FB.login(response => { if (ours === attempt) answered(response); }, {
    config_id: config.configId,
    response_type: "code",
    override_default_response_type: true,
    extras: {setup: {}, sessionInfoVersion: "3", ...(config.feature ? {featureType: config.feature} : {})},
  }));
  if (opened === null) show("blocked");
}

function later(delay, action) {
  const ours = attempt;
  setTimeout(() => { if (ours === attempt && state === "waiting") action(); }, delay);
}

function answered(response) {
  if (state !== "waiting") return;
  const code = response && response.authResponse && response.authResponse.code;
  if (code) {
    claim.code = code;
    submitIfComplete();
    later(OTHER_HALF_PATIENCE, () => show("incomplete"));
  } else {
    later(MESSAGE_GRACE, () => show(claim.waba_id ? "incomplete" : "closed"));
  }
}

function submitIfComplete() {
  if (!(claim.code && claim.waba_id && (claim.phone_number_id || claim.ofApp))) return;
  const form = document.getElementById("claim");
  for (const name of ["code", "phone_number_id", "waba_id"]) form.elements[name].value = claim[name] || "";
  show("connecting");
  form.submit();
}

function isPlatform(origin) {
  const site = new URL(config.site);
  if (origin === site.origin) return true;
  if (config.subdomains !== "yes") return false;
  try {
    const from = new URL(origin);
    return from.protocol === site.protocol && from.port === site.port && from.hostname.endsWith("." + site.hostname);
  } catch { return false; }
}

function parse(data) {
  // The SDK's own messages come from the same origin and are not JSON.
  try { return typeof data === "string" ? JSON.parse(data) : data; } catch { return null; }
}

function hear(event) {
  if (!isPlatform(event.origin) || !["waiting", "closed"].includes(state)) return;
  const message = parse(event.data);
  if (!message || message.type !== "WA_EMBEDDED_SIGNUP") return;
  const data = message.data || {};
  if (String(message.event).startsWith("FINISH")) finished(data, message.event);
  else if (data.error_message || data.error_code || message.event === "ERROR") failed(data);
  else if (message.event === "CANCEL") cancelled(data);
}

function finished(data, event) {
  // A number of the WhatsApp Business app comes with its business account only.
  claim.ofApp = event === "FINISH_WHATSAPP_BUSINESS_APP_ONBOARDING";
  if (!data.phone_number_id && !claim.ofApp) { show("no-number"); return; }
  claim.phone_number_id = String(data.phone_number_id || "");
  claim.waba_id = String(data.waba_id || "");
  submitIfComplete();
  later(OTHER_HALF_PATIENCE, () => show("incomplete"));
}

function failed(data) {
  const code = data.error_code || data.error_id;
  page.querySelector('[data-error="message"]').textContent = data.error_message || "";
  page.querySelector('[data-error="code"]').textContent = code ? "(code " + code + ")" : "";
  show("error");
}

function cancelled(data) {
  for (const each of page.querySelectorAll("[data-step]")) each.hidden = each.dataset.step !== data.current_step;
  show("cancelled");
}

button.hidden = false;
button.addEventListener("click", start);
document.getElementById("reload").addEventListener("click", () => location.reload());
addEventListener("message", hear);
// The browser's back button restores the page in its old state, which is no longer valid.
addEventListener("pageshow", event => { if (event.persisted) location.reload(); });
loadSdk();
