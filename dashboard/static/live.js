"use strict";
// Events, delivery attempts and notices of WhatsApp as they happen. While the page is paused, new rows are queued.
(() => {
  // The most rows of each kind, so that many rows of one kind do not displace the others.
  const MOST = 100;
  const FRAME_MS = 50;
  const list = document.getElementById("happened"), state = document.getElementById("state");
  // The path of the public URL.
  const {root} = list.dataset;
  const pause = document.getElementById("pause"), filter = document.querySelector("#filter select");
  const time = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit"});
  const OMITTED = {
    "attempt.succeeded": "successful delivery attempts", "attempt.failed": "failed delivery attempts", notice: "notices of WhatsApp",
  };
  const LOST = "The database was restored, another server took over, or the events are no longer kept.";
  // Rows, the newest first.
  let waiting = [], isPaused = false, isOpen = false, isCut = false, timer = null;

  function element(name, text, values = {}) {
    const made = Object.assign(document.createElement(name), values);
    made.textContent = text;
    return made;
  }
  // Like dashboard.wording.words().
  function inWords(name) {
    const text = name.replaceAll("_", " ");
    return /[a-z]/u.test(text) ? text : text.toLowerCase();
  }
  function about({id, direction, fromNumber, toNumber, body, type, phoneNumber, name, status, contact}) {
    const party = direction === "INBOUND" ? fromNumber : toNumber;
    const person = contact?.name || contact?.username || party || phoneNumber || name || id;
    return [person, body?.body ?? body?.caption ?? (type === "text" ? "" : type) ?? status ?? ""];
  }
  // Each function returns the cells after the time: the event, its subject and a detail.
  function ofEvent({event, data}) {
    const [person, text] = about(data), isMessage = String(data.id).startsWith("msg_");
    const party = isMessage ? element("a", person, {href: `${root}/dashboard/messages/${data.id}`}) : element("strong", person);
    return [element("strong", event), party, text];
  }
  function ofAttempt({deliveryId, event, url, attempt, statusCode, error, durationMs}, kind) {
    const isGood = kind === "attempt.succeeded", words = `${isGood ? "Delivered" : "Failed"}: ${statusCode ?? "no response"}`;
    const detail = `attempt ${attempt}, ${durationMs} ms, to ${url}`;
    return [
      element("span", words, {className: `badge ${isGood ? "good" : "bad"}`}),
      element("a", event, {href: `${root}/dashboard/deliveries/${deliveryId}`}),
      statusCode === null && error ? `${detail}: ${error}` : detail,
    ];
  }
  function ofNotice({numberId, phoneNumber, field, event}) {
    const link = element("a", phoneNumber ?? "The whole business account", {href: `${root}/dashboard/numbers/${numberId}`});
    return [element("strong", "Notice"), link, `${inWords(field)}: ${inWords(event)}`];
  }
  function ofOmitted({kind, count}) {
    if (kind === "events") return [element("strong", "Not shown"), element("strong", "earlier events"), LOST];
    return [element("strong", "Not shown"), element("strong", `${count} more ${OMITTED[kind]}`), ""];
  }
  function parts(kind, data) {
    if (kind === "omitted") return ofOmitted(data);
    if (kind === "notice") return ofNotice(data);
    return kind.startsWith("attempt.") ? ofAttempt(data, kind) : ofEvent(data);
  }
  function row({type, data}) {
    const made = document.createElement("li"), what = document.createElement("span"), record = JSON.parse(data);
    const [title, subject, detail] = parts(type, record), timestamp = record.timestamp ?? new Date().toISOString();
    made.dataset.kind = record.kind ?? type;
    made.dataset.source = /^(attempt|notice)/u.exec(made.dataset.kind)?.[0] ?? "event";
    what.append(subject, element("small", detail));
    made.append(element("time", time.format(new Date(timestamp)), {dateTime: timestamp}), title, what);
    return made;
  }
  const matches = ({dataset}) => ["", dataset.source, dataset.kind].includes(filter.value);
  function newest(rows) {
    const counts = {};
    return rows.filter(({dataset: {kind}}) => (counts[kind] = (counts[kind] ?? 0) + 1) <= MOST);
  }
  function tell() {
    const count = waiting.filter(matches).length, words = isOpen ? "Connected." : "Connecting…";
    state.textContent = isPaused ? `Paused. ${count}${isCut ? " or more" : ""} new.` : words;
  }
  function filtered() {
    const rows = [...list.children], kept = new Set(newest(rows));
    for (const each of rows) if (kept.has(each)) each.hidden = !matches(each); else each.remove();
  }
  function show() {
    list.prepend(...waiting);
    waiting = [];
    isCut = false;
    filtered();
  }
  function cut() {
    const kept = newest(waiting);
    isCut ||= kept.length < waiting.length;
    waiting = kept;
  }
  function take(message) {
    waiting.unshift(row(message));
    // Browsers delay the timers of background pages.
    if (waiting.length % MOST === 0) cut();
    timer ??= setTimeout(() => {
      timer = null;
      cut();
      if (isPaused) tell(); else show();
    }, FRAME_MS);
  }
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.setAttribute("aria-pressed", isPaused);
    pause.textContent = isPaused ? "Resume" : "Pause";
    if (!isPaused) show();
    tell();
  });
  document.getElementById("clear").addEventListener("click", () => list.replaceChildren());
  filter.addEventListener("change", () => { filtered(); tell(); });
  // The browser reconnects by itself and sends the id of the last event.
  const source = new EventSource(`${root}/dashboard/live/stream`);
  source.addEventListener("open", () => { isOpen = true; tell(); });
  source.addEventListener("error", () => {
    isOpen = false;
    tell();
    // Refused: the session has ended.
    if (source.readyState === EventSource.CLOSED) state.textContent = "The stream was refused. Load the page again.";
  });
  const kinds = list.dataset.kinds.split(" ");
  for (const name of [...kinds, "attempt.succeeded", "attempt.failed", "notice", "omitted"]) source.addEventListener(name, take);
})();
