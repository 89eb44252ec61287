"""/dashboard/search: searches the account by identifiers, people and words of texts."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import Response, request
from markupsafe import Markup, escape

from dashboard.contacts import as_kept
from dashboard.guard import ALL, account
from dashboard.messages import find_messages
from dashboard.own_numbers import own_numbers
from dashboard.site import SEARCH as PATH
from dashboard.site import blueprint, go, show
from models.accounts.account import ApiKey
from models.broadcasts.broadcast import Broadcast
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook
from models.messages import contact_search
from models.messages.contact import Contact
from models.messages.message import Message
from models.messages.search import find
from models.messages.words import has_all, texts_in, words_of
from models.numbers.number import Number
from models.numbers.signup import SignupLink

MAX_TEXT, LEAST_TEXT, MOST_WORDS = 200, 2, 10
SHOWN = 20
_WORD = re.compile(r"\w+")
# Characters before the first marked word, and the most characters of the excerpt.
BEFORE, LENGTH = 40, 200
# The folder of the pages of a kind of identifier, and how to find a row.
PAGES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "msg": ("messages", Message.by_id),
    "num": ("numbers", Number.find),
    "wh": ("webhooks", Webhook.by_id),
    "ctc": ("contacts", Contact.find),
    "sl": ("links", SignupLink.by_id),
    "bc": ("broadcasts", Broadcast.by_id),
    "dlv": ("deliveries", Delivery.find),
    "key": ("keys", ApiKey.by_id),
}


@dataclass(frozen=True)
class Group:
    """The results of one kind. ``more`` is the URL of the rest, ``label`` the text of its link."""

    kind: str
    rows: Sequence[Any]
    more: str | None = None
    label: str = "Show all"


@blueprint.page("/search", ALL)
def search() -> Response:
    """The matches by kind. An identifier of the gateway redirects to its page."""
    text = request.args.get("q", "").strip()[:MAX_TEXT]
    kind = request.args.get("kind", "")
    if path := _page_of(text):
        return go(path)
    # A single Chinese character can be a word.
    is_short = len(text) < LEAST_TEXT and text.isascii()
    kinds = [kind] if kind in FINDERS else list(FINDERS)
    groups = [] if is_short else [FINDERS[each](text) for each in kinds]
    return show(
        "search.html",
        text=text,
        kind=kind if kind in FINDERS else "",
        kinds=list(FINDERS),
        groups=[group for group in groups if group.rows or group.more],
        is_short=is_short,
        numbers=own_numbers(),
        max_text=MAX_TEXT,
        marked=lambda content: _marked(content, _words(text)),
    )


def _words(text: str) -> list[str]:
    return words_of(text)[:MOST_WORDS]


def _people(text: str) -> Group:
    found = contact_search.search(account().id, SHOWN, 0, text=as_kept(text))
    more = f"/dashboard/contacts?{urlencode({'text': text})}" if found.total > SHOWN else None
    return Group("people", found.rows, more, f"Show all {found.total:,}")


def _messages(text: str) -> Group:
    """Messages with a person, with the network's identifier, or with an error code."""
    found = find_messages(text, SHOWN)
    more = f"/dashboard/messages?{urlencode({'find': text})}" if found.total > SHOWN else None
    return Group("messages", found.rows, more, f"Show all {found.total:,}")


def _texts(text: str) -> Group:
    words = _words(text)
    if not words:
        return Group("texts", [])
    found = find(account().id, words, SHOWN, request.args.get("before") or None)
    query = urlencode({"q": text, "kind": "texts", "before": found.before or ""})
    more = f"{PATH}?{query}" if found.before else None
    return Group("texts", found.rows, more, "Search older messages")


def _deliveries(text: str) -> Group:
    """Deliveries of an event, or of the message with this identifier of the network."""
    if text.startswith("evt_"):
        event = Event.by_id(text)
        events = [event] if event is not None and event.account_id == account().id else []
    else:
        found: list[Message] = find_messages(text, 1).rows if text.startswith("wamid.") else []
        events = [event for row in found for event in Event.of_subject(row.account_id, row.id)]
    return Group("deliveries", Delivery.of_events([event.id for event in events])[:SHOWN])


def _numbers(text: str) -> Group:
    wanted = as_kept(text).casefold()
    rows = Number.all(account().id)
    named = ((row, f"{row.phone_number} {row.display_name or ''}") for row in rows)
    return Group("numbers", [row for row, name in named if wanted in name.casefold()][:SHOWN])


def _webhooks(text: str) -> Group:
    rows = Webhook.all(account().id)
    return Group("webhooks", [row for row in rows if text.casefold() in row.url.casefold()][:SHOWN])


FINDERS: dict[str, Callable[[str], Group]] = {
    "people": _people,
    "messages": _messages,
    "texts": _texts,
    "deliveries": _deliveries,
    "numbers": _numbers,
    "webhooks": _webhooks,
}


def _page_of(identifier: str) -> str | None:
    """The URL of the page of an identifier. None if there is none or it belongs to another account."""
    kind = identifier.partition("_")[0]
    if kind == "att":
        attempt = Attempt.by_id(identifier)
        page = None if attempt is None else _page_of(attempt.delivery_id)
        return page and f"{page}#{identifier}"
    if kind == "evt":
        return _page_of_event(identifier)
    if kind not in PAGES:
        return None
    folder, find_row = PAGES[kind]
    row = find_row(identifier)
    if row is None or (row.webhook if kind == "dlv" else row).account_id != account().id:
        return None
    # All keys have one page.
    return f"/dashboard/{folder}" if kind == "key" else f"/dashboard/{folder}/{row.id}"


def _page_of_event(identifier: str) -> str | None:
    """The page of the event's delivery. Several deliveries are listed instead."""
    event = Event.by_id(identifier)
    if event is None or event.account_id != account().id:
        return None
    deliveries = Delivery.of_events([identifier])
    if len(deliveries) > 1:
        return None
    return _page_of(deliveries[0].id if deliveries else event.subject_id)


def _marked(content: str, words: Sequence[str]) -> Markup:
    """A message's text from the first hit as HTML, with all hits marked. ``content`` is JSON text."""
    text = " · ".join(texts_in(content))
    first = next((each.start() for each in _WORD.finditer(text) if _is_wanted(each[0], words)), 0)
    start = max(0, first - BEFORE) if first > LENGTH - BEFORE else 0
    shown, end = text[start : start + LENGTH], start + LENGTH
    parts, at = [escape("…" if start else "")], 0
    for each in _WORD.finditer(shown):
        if _is_wanted(each[0], words):
            parts += [escape(shown[at : each.start()]), Markup("<mark>{}</mark>").format(each[0])]
            at = each.end()
    return Markup("").join([*parts, escape(shown[at:]), "…" if end < len(text) else ""])


def _is_wanted(text: str, words: Sequence[str]) -> bool:
    found = words_of(text)
    return any(has_all(found, [word]) for word in words)
