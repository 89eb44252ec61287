"use strict";
// Copy buttons need a script, so the style sheet shows them only where this one runs.
document.documentElement.classList.add("scripted");
// Loading a page again asks for it, and never posts the form once more that it is the answer to.
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
    // Without https there is no clipboard: what is selected can be copied by hand.
    getSelection().selectAllChildren(source);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
});
// htmx asks for a piece of a page. Who is no longer signed in gets the whole sign-in, and afterwards this page again.
document.addEventListener("htmx:before:response", (event) => {
  const {raw} = event.detail.ctx.response;
  if (!raw.redirected) return;
  event.preventDefault();
  const signIn = new URL(raw.url);
  signIn.searchParams.set("next", location.pathname + location.search);
  location.assign(signIn);
});
// What is asked for again and again needs no words when it fails; what somebody pressed does.
function explain({request, target}, words) {
  if (request.method !== "GET") target.textContent = words;
}
document.addEventListener("htmx:response:error", ({detail: {ctx}}) => {
  const page = new DOMParser().parseFromString(ctx.text, "text/html");
  explain(ctx, [...page.querySelectorAll("h1, h1 + p")].map((each) => each.textContent).join(". "));
});
document.addEventListener("htmx:error", ({detail: {ctx}}) => {
  if (ctx) explain(ctx, "The gateway did not answer. Try again in a moment.");
});
