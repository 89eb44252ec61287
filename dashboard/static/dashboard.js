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
