"use strict";
// Copy buttons need this script, so the style sheet hides them without it.
document.documentElement.classList.add("scripted");
// A reload requests the page, and never posts the form again.
history.replaceState(null, "", location.href);
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (button === null) return;
  const source = document.getElementById(button.dataset.copy);
  const label = button.dataset.label ??= button.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    // Without https there is no clipboard: the user copies the selected text.
    getSelection().selectAllChildren(source);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
});
// This checkbox selects all rows of its form.
document.addEventListener("change", ({target}) => {
  if (!target.matches("[data-all]")) return;
  for (const box of target.form.querySelectorAll("tbody [type=checkbox]")) box.checked = target.checked;
});
// The strength of a new password, a moment after it was typed. No other field of the form is sent.
let typing;
document.addEventListener("input", ({target}) => {
  if (!target.matches("[data-strength]")) return;
  const {strength, email, token} = target.dataset;
  clearTimeout(typing);
  typing = setTimeout(() => htmx.ajax("POST", strength, {
    target: "#strength", swap: "innerHTML", values: {csrf_token: token, email, password: target.value},
  }), 400);
});
// Passwords can be shown while they are typed. They are hidden when the form is sent: browsers remember visible texts.
for (const form of document.querySelectorAll("form:has([type=password])")) {
  const fields = [...form.querySelectorAll("[type=password]")], button = document.createElement("button");
  const show = (isShown) => {
    button.ariaPressed = String(isShown);
    for (const field of fields) field.type = isShown ? "text" : "password";
  };
  for (const field of fields) Object.assign(field, {spellcheck: false, autocapitalize: "none"});
  Object.assign(button, {type: "button", className: "plain small show", textContent: `Show password${fields.length > 1 ? "s" : ""}`});
  button.addEventListener("click", () => show(button.ariaPressed !== "true"));
  form.addEventListener("submit", () => show(false));
  show(false);
  fields.at(-1).closest("label").after(button);
}
// A file that is too large is not sent: the response would be a page without the form.
document.addEventListener("change", ({target}) => {
  if (!target.matches("[type=file][data-most]")) return;
  const most = Number(target.dataset.most), isTooLarge = target.files[0]?.size > most;
  target.setCustomValidity(isTooLarge ? `This file is too large. WhatsApp accepts files of up to ${most / 1024 ** 2} MiB.` : "");
  target.reportValidity();
});
// htmx requests part of a page. If the session has ended, the user signs in, then returns to this page.
document.addEventListener("htmx:before:response", (event) => {
  const {raw} = event.detail.ctx.response;
  if (!raw.redirected) return;
  event.preventDefault();
  const signIn = new URL(raw.url);
  signIn.searchParams.set("next", location.pathname + location.search);
  location.assign(signIn);
});
// A failed poll shows no error. A failed action of the user does.
function explain({request, target}, words) {
  if (request.method !== "GET") target.textContent = words;
}
document.addEventListener("htmx:response:error", ({detail: {ctx}}) => {
  const page = new DOMParser().parseFromString(ctx.text, "text/html");
  explain(ctx, [...page.querySelectorAll("h1, h1 + p")].map((each) => each.textContent).join(". "));
});
document.addEventListener("htmx:error", ({detail: {ctx}}) => {
  if (ctx) explain(ctx, "The gateway did not respond. Try again in a moment.");
});
// Relative times, with the exact time in the reader's time zone on hover and focus.
const parts = {day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short"};
const [thisYear, otherYear] = [parts, {...parts, year: "numeric"}].map((each) => new Intl.DateTimeFormat("en-GB", each));
const day = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short", year: "numeric"});
// Formats of times in charts, by data-when. A day on an axis is the day of the middle of its step.
const [clock, date] = [{hour: "2-digit", minute: "2-digit"}, {day: "numeric", month: "short"}];
const OF_CHARTS = Object.fromEntries(Object.entries({clock, day: date, step: {...date, ...clock}})
  .map(([look, shown]) => [look, new Intl.DateTimeFormat("en-GB", shown)]));
// The name of the zone in summer and winter. UTC has only a short one.
const [short, generic] = ["short", "longGeneric"].map((timeZoneName) => new Intl.DateTimeFormat("en-GB", {timeZoneName})
  .formatToParts().find((part) => part.type === "timeZoneName").value);
const zone = short === "UTC" ? short : generic;
const STEPS = [["min", 60_000, 60], ["h", 3_600_000, 24], ["d", 86_400_000, 7]];

// Forms with a time offer the reader's time zone first.
for (const select of document.querySelectorAll("select[data-own-zone]")) {
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  if ([...select.options].some((option) => option.value === own)) select.value = own;
}

function ago(at) {
  const passed = Date.now() - at;
  if (Math.abs(passed) < 60_000) return passed < 0 ? "in a moment" : "just now";
  for (const [unit, length, most] of STEPS) {
    const count = Math.floor(Math.abs(passed) / length);
    if (count < most) return passed < 0 ? `in ${count} ${unit}` : `${count} ${unit} ago`;
  }
  return day.format(at);
}

function exact(at) {
  const isThisYear = new Date(at).getFullYear() === new Date().getFullYear();
  return (isThisYear ? thisYear : otherYear).format(at);
}

function tellTimesOfCharts() {
  for (const time of document.querySelectorAll("[data-when]")) {
    const format = OF_CHARTS[time.dataset.when];
    // SVG has no <time>.
    if (format) time.textContent = format.format(Date.parse(time.dateTime ?? time.dataset.at)) + (time.dataset.figures ?? "");
  }
  for (const name of document.querySelectorAll("[data-zone]")) name.textContent = zone;
}
tellTimesOfCharts();
document.addEventListener("htmx:after:swap", tellTimesOfCharts);

function tellTimes() {
  for (const time of document.querySelectorAll("time:is([data-when=ago], [data-when=exact])")) {
    const at = Date.parse(time.dateTime);
    const [text, tip] = [ago(at), exact(at)];
    [time.textContent, time.dataset.tip] = time.dataset.when === "ago" ? [text, tip] : [tip, text];
  }
}
tellTimes();
setInterval(tellTimes, 30_000);
document.addEventListener("htmx:after:swap", tellTimes);
// Escape closes the menu of a narrow screen, like other menus.
document.addEventListener("keydown", (event) => {
  const menu = document.querySelector(".menu[open]");
  if (event.key !== "Escape" || menu === null) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
