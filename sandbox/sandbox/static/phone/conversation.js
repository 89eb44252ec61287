// Updates a list of bubbles and replaces only changed ones, so that audio continues to play,
// a focused button keeps the focus, and a screen reader reads only new messages.

function made(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;  // The sandbox escaped what people wrote; no script runs without the nonce.
  return holder.content.firstElementChild;
}

function patch(old, fresh) {
  for (const {name, value} of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  [...fresh.children].forEach((part, index) => {
    if (!old.children[index].isEqualNode(part)) old.children[index].replaceWith(part);
  });
}

// The oldest message that is shown; above it stands the separator of its day.
function topOf(list) {
  return list.querySelector("li:not(.day)")?.dataset.id;
}

export function draw(list, entries) {
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
  const fromEnd = list.scrollHeight - list.scrollTop;
  const first = topOf(list);
  const there = new Map([...list.children].map(each => [each.dataset.id, each]));
  const wanted = new Set(entries.map(each => each.id));
  for (const [id, each] of there) if (!wanted.has(id)) each.remove();
  let place = list.firstElementChild;
  for (const entry of entries) {
    const fresh = made(entry.html), old = there.get(entry.id);
    if (old) patch(old, fresh);
    const item = old ?? fresh;
    if (item === place) place = place.nextElementSibling;
    else list.insertBefore(item, place);
  }
  if (atEnd) showEnd(list);
  else if (first !== topOf(list)) list.scrollTop = list.scrollHeight - fromEnd;
}

export function showEnd(list) {
  list.scrollTop = list.scrollHeight;
}
