"use strict";
// Events as they happen. What comes while the page is paused waits, the newest of it only.
(() => {
  const MOST = 200;
  const list = document.getElementById("events"), state = document.getElementById("state");
  const pause = document.getElementById("pause"), kind = document.querySelector("#filter select");
  const time = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit"});
  let waiting = [], isPaused = false, isOpen = false;

  function tell() {
    const words = isOpen ? "Connected." : "Connecting…";
    state.textContent = isPaused ? `Paused. ${waiting.length} new.` : words;
  }
  function element(name, text, values = {}) {
    const made = Object.assign(document.createElement(name), values);
    made.textContent = text;
    return made;
  }
  function about({id, direction, fromNumber, toNumber, body, type, phoneNumber, name, status, contact}) {
    const party = direction === "INBOUND" ? fromNumber : toNumber;
    const person = contact?.name || contact?.username || party || phoneNumber || name || id;
    return [person, body?.body ?? body?.caption ?? (type === "text" ? "" : type) ?? status ?? ""];
  }
  function item({event, timestamp, data}) {
    const made = document.createElement("li"), [person, text] = about(data), what = document.createElement("span");
    made.dataset.kind = event;
    made.hidden = kind.value !== "" && kind.value !== event;
    const isMessage = String(data.id).startsWith("msg_");
    what.append(isMessage ? element("a", person, {href: `/dashboard/messages/${data.id}`}) : element("strong", person));
    what.append(element("small", text));
    made.append(element("time", time.format(new Date(timestamp)), {dateTime: timestamp}), element("strong", event), what);
    return made;
  }
  function show(records) {
    list.prepend(...records.map(item).reverse());
    while (list.children.length > MOST) list.lastChild.remove();
  }
  function take(message) {
    const record = JSON.parse(message.data);
    if (isPaused) waiting = [...waiting, record].slice(-MOST);
    else show([record]);
    if (isPaused) tell();
  }
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.setAttribute("aria-pressed", isPaused);
    pause.textContent = isPaused ? "Resume" : "Pause";
    if (!isPaused) { show(waiting); waiting = []; }
    tell();
  });
  document.getElementById("clear").addEventListener("click", () => list.replaceChildren());
  kind.addEventListener("change", () => {
    for (const each of list.children) each.hidden = kind.value !== "" && kind.value !== each.dataset.kind;
  });
  // The browser opens it again by itself, and says where it was.
  const source = new EventSource("/dashboard/live/stream");
  source.addEventListener("open", () => { isOpen = true; tell(); });
  source.addEventListener("error", () => {
    isOpen = false;
    tell();
    // Refused: the session has ended.
    if (source.readyState === EventSource.CLOSED) state.textContent = "The stream was refused. Load the page again.";
  });
  for (const option of kind.options) if (option.value) source.addEventListener(option.value, take);
})();
