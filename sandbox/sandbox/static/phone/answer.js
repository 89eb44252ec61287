// The input line of a phone: a text, a file, and the message that it replies to.

import { upload } from "./network.js";

const KINDS = new Set(["image", "video", "audio"]);

function kindOf(file) {
  if (file.type === "image/webp") return "sticker";
  const family = file.type.split("/")[0];
  return KINDS.has(family) ? family : "document";
}

export class Answer {
  // `say` sends a message of this phone, `business` is the digits it goes to.
  constructor(section, say, business) {
    this.say = say;
    this.business = business;
    [this.text, this.file, this.quote, this.chosen] =
      [".text", "input[type=file]", ".chosen.quote", ".chosen.file"].map(each => section.querySelector(each));
    section.querySelector("form.answer").addEventListener("submit", event => {
      event.preventDefault();
      this.send();
    });
    this.file.addEventListener("change", () => this.showFile());
    this.quote.querySelector("button").addEventListener("click", () => this.reply(null));
    this.chosen.querySelector("button").addEventListener("click", () => this.dropFile());
    this.text.addEventListener("keydown", event => {
      if (event.key === "Escape") this.reply(null);
    });
  }

  // The next message replies to this one, or to none if null.
  reply(id, summary = "") {
    this.quoted = id;
    this.quote.hidden = !id;
    this.quote.firstElementChild.textContent = summary;
    if (id) this.text.focus();
  }

  showFile() {
    const file = this.file.files[0];
    this.chosen.hidden = !file;
    this.chosen.firstElementChild.textContent = file ? file.name : "";
    if (file) this.text.focus();
  }

  dropFile() {
    this.file.value = "";
    this.showFile();
  }

  // Clear the line at once, so that the person can write the next message during the request.
  async send() {
    const text = this.text.value, file = this.file.files[0], {quoted} = this, quote = this.quote.firstElementChild.textContent;
    if (!text.trim() && !file) return;
    this.text.value = "";
    this.dropFile();
    this.reply(null);
    const sent = await this.say(async () => file ? this.attachment(file, text) : {type: "text", text: {body: text}}, quoted);
    if (!sent) this.giveBack(text, file, quoted, quote);
  }

  // Restore it before newer text, and only where no newer file or reply was chosen.
  giveBack(text, file, quoted, quote) {
    this.text.value = [text, this.text.value].filter(Boolean).join(" ");
    if (quoted && !this.quoted) this.reply(quoted, quote);
    if (!file || this.file.files.length) return;
    const kept = new DataTransfer();
    kept.items.add(file);
    this.file.files = kept.files;
    this.showFile();
  }

  async attachment(file, caption) {
    const kind = kindOf(file), content = await upload(this.business(), file);
    if (kind === "document") content.filename = file.name;
    if (caption && kind !== "audio" && kind !== "sticker") content.caption = caption;
    return {type: kind, [kind]: content};
  }
}
