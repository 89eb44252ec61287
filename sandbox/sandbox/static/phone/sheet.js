// A sheet that slides over one phone. The dialog element brings the Escape key, and returns the focus.

export class Sheet {
  constructor(dialog, phone) {
    this.dialog = dialog;
    this.phone = phone;
    dialog.addEventListener("click", event => {
      if (event.target === dialog) dialog.close();
    });
    // The browser's close event may arrive after the sheet was opened again.
    dialog.addEventListener("close", () => {
      if (!dialog.open) dialog.replaceChildren();
    });
    addEventListener("resize", () => dialog.open && this.cover());
  }

  // Shows a copy of a template's content.
  open(template) {
    const close = Object.assign(document.createElement("button"), {type: "button", className: "close", textContent: "Close"});
    close.addEventListener("click", () => this.close());
    this.dialog.replaceChildren(template.content.cloneNode(true), close);
    this.dialog.setAttribute("aria-label", this.dialog.querySelector("h2")?.textContent ?? "Choose");
    this.cover();
    this.dialog.showModal();
    return this.dialog;
  }

  close() {
    this.dialog.close();
  }

  cover() {
    const place = this.phone.getBoundingClientRect();
    this.dialog.style.setProperty("--left", `${place.left}px`);
    this.dialog.style.setProperty("--width", `${place.width}px`);
    this.dialog.style.setProperty("--bottom", `${Math.max(0, innerHeight - place.bottom)}px`);
  }
}
