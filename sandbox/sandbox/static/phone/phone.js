// One phone: a person, a conversation, and the controls to reply.

import { Answer } from "./answer.js";
import { draw, showEnd } from "./conversation.js";
import { conversation, write } from "./network.js";
import { Sheet } from "./sheet.js";

const SHOWN = 60, MORE = 200;

// A separator above the first message of each day.
function withDays(entries) {
  return entries.flatMap((each, at) => each.day.id === entries[at - 1]?.day.id ? [each] : [each.day, each]);
}

export class Phone {
  // `business` returns the id and the digits of the selected number.
  constructor(section, business) {
    this.business = business;
    [this.person, this.list, this.problem, this.earlier] =
      [".person", ".messages", ".problem", ".earlier"].map(each => section.querySelector(each));
    this.sheet = new Sheet(section.querySelector("dialog"), section);
    this.answer = new Answer(section, (make, quoted) => this.say(make, quoted), () => business().digits);
    this.forget();
    this.list.addEventListener("click", event => this.press(event));
    this.earlier.addEventListener("click", () => {
      this.shown += MORE;
      this.refresh();
    });
    section.querySelector(".place").addEventListener("click", () => this.sendPlace());
    showEnd(this.list);
  }

  // Resets the phone for another conversation.
  forget() {
    this.shown = SHOWN;
    this.version = "";
    this.answer.reply(null);
  }

  async refresh() {
    const asked = {number: this.business().id, person: this.person.value, shown: this.shown, version: this.version};
    let content;
    try {
      content = await conversation(asked);
      this.complain("", "outage");
    } catch (error) {
      return this.complain(error.message, "outage");
    }
    if (!content || asked.person !== this.person.value || asked.number !== this.business().id) return null;
    const begun = this.version === "";
    this.version = content.version;
    draw(this.list, withDays(content.data));
    if (begun && this.shown === SHOWN) showEnd(this.list);
    this.earlier.hidden = !content.more;
    return content;
  }

  // A problem stays until the same kind of thing succeeds.
  complain(text, kind) {
    if (!text && this.problem.dataset.kind !== kind) return null;
    this.problem.dataset.kind = kind;
    if (this.problem.textContent !== text) this.problem.textContent = text;
    return null;
  }

  // Sends the message that `make` returns as this person. Returns whether it was sent.
  async say(make, quoted) {
    const between = {to: this.business().digits, from: this.person.value};
    try {
      const message = await make();
      const context = quoted ? {context: {message_id: quoted}} : {};
      await write({...message, ...context, ...between});
    } catch (error) {
      this.complain(error.message, "sending");
      return false;
    }
    this.complain("", "sending");
    showEnd(this.list);
    await this.refresh();
    return true;
  }

  press(event) {
    const button = event.target.closest("button"), item = button?.closest("li");
    if (!item) return;
    const id = item.dataset.id;
    if (button.dataset.say) this.say(() => JSON.parse(button.dataset.say), id);
    else if (button.dataset.act === "reply") this.answer.reply(id, button.dataset.text);
    else if (button.dataset.act === "react") this.react(id);
    else if ("sheet" in button.dataset) this.choose(item.querySelector("template"), id);
  }

  choose(template, id) {
    const dialog = this.sheet.open(template);
    for (const row of dialog.querySelectorAll("[data-say]")) {
      row.addEventListener("click", () => this.fromSheet(() => JSON.parse(row.dataset.say), id));
    }
  }

  react(id) {
    const dialog = this.sheet.open(document.getElementById("reaction"));
    const send = emoji => this.fromSheet(() => ({type: "reaction", reaction: {message_id: id, emoji}}));
    for (const each of dialog.querySelectorAll("[data-emoji]")) {
      each.addEventListener("click", () => send(each.dataset.emoji));
    }
    this.onSubmit(dialog, fields => send(fields.get("emoji").trim()));
  }

  sendPlace() {
    const dialog = this.sheet.open(document.getElementById("location"));
    this.onSubmit(dialog, async fields => {
      const given = [...fields].filter(([, value]) => value !== "");
      const location = Object.fromEntries(given.map(
        ([name, value]) => [name, name.endsWith("tude") ? Number(value) : value]));
      if (await this.fromSheet(() => ({type: "location", location}), this.answer.quoted)) this.answer.reply(null);
    });
  }

  onSubmit(dialog, act) {
    const form = dialog.querySelector("form");
    form.addEventListener("submit", event => {
      event.preventDefault();
      act(new FormData(form));
    });
  }

  fromSheet(make, quoted) {
    this.sheet.close();
    return this.say(make, quoted);
  }
}
