"""/dashboard/messages: the account's messages, with their statuses, events and deliveries."""

import re
from collections.abc import Sequence
from typing import Any

from flask import Response

from dashboard.contacts import as_kept
from dashboard.guard import ALL, account
from dashboard.keys import RECIPIENT, first_message
from dashboard.list_filters import read_filters
from dashboard.own_numbers import own_number
from dashboard.site import PER_PAGE, blueprint, mine, offset, show
from models import clock
from models.broadcasts.broadcast import Broadcast
from models.database import reading
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.event import Event
from models.messages import contact_search, targets
from models.messages.contact import Contact
from models.messages.message import Direction, Message, MessageStatus
from models.messages.message_filter import MessageFilter
from models.numbers.number import Number
from models.page import Page
from networks.registry import explanation

FILTERS = {"direction": [*Direction], "status": [*MessageStatus]}
# The page polls only while a change is likely: a next status, or an attempt that is due.
STATUS_LIKELY_MS = 10 * 60_000
ATTEMPT_LIKELY_MS = 60_000
UNDER_WAY = {MessageStatus.PENDING, MessageStatus.SENT, MessageStatus.DELIVERED}
_USER_ID = re.compile(r"[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]+", re.ASCII)
LEAST_PHONE_DIGITS = 7
# The newest ones, as choices of a filter.
MOST_BROADCASTS = 20


@blueprint.page("/messages", ALL)
def messages() -> Response:
    """The account's messages that match the filter, newest first."""
    chosen, times, problems = read_filters(FILTERS, "number_id", "broadcast_id", "find")
    if chosen["number_id"]:
        chosen["number_id"] = own_number(chosen["number_id"]).id
    offered = _broadcasts(chosen["broadcast_id"])
    found = Page[Message]([], 0, PER_PAGE, 0) if problems else _find(chosen, times)
    is_new = not any(chosen.values()) and not found.total
    return show(
        "messages.html",
        422 if problems else 200,
        found=found,
        people=_people(found.rows),
        chosen=chosen,
        problems=problems,
        numbers=Number.all(account().id),
        broadcasts=offered,
        kinds=FILTERS,
        snippet=first_message(account().id) if is_new else None,
        recipient=RECIPIENT,
    )


@blueprint.page("/messages/<message_id>", ALL)
def message(message_id: str) -> Response:
    """One message: its person, its steps, and the events that it caused with their deliveries."""
    row = mine(Message.by_id(message_id))
    targets.complete(row)
    events = Event.of_subject(row.account_id, row.id)
    deliveries = Delivery.of_events([event.id for event in events])
    return show(
        "message.html",
        message=row,
        number=Number.by_id(row.number_id),
        broadcast=Broadcast.by_id(row.broadcast_id) if row.broadcast_id else None,
        contact=Contact.find(row.contact_id) if row.contact_id else None,
        quoted=Message.by_id(row.quoted_id),
        steps=row.history(),
        events=[(event, [d for d in deliveries if d.event_id == event.id]) for event in events],
        is_live=_is_under_way(row, deliveries),
    )


def _broadcasts(chosen: str) -> dict[str, str]:
    """The names of the newest broadcasts by identifier, and of the chosen one.

    Ends the request with a 404 page if there is no such broadcast.
    """
    rows = Broadcast.search(account().id, MOST_BROADCASTS, 0, None, None).rows
    if chosen and chosen not in {row.id for row in rows}:
        rows.append(mine(Broadcast.by_id(chosen)))
    return {row.id: row.name for row in rows}


def _people(rows: Sequence[Message]) -> dict[str, Contact]:
    with reading():
        return Contact.by_ids(row.contact_id for row in rows)


def _find(chosen: dict[str, str], times: dict[str, int | None]) -> Page[Message]:
    names = "number_id", "broadcast_id", *FILTERS
    wanted: dict[str, Any] = {name: chosen[name] or None for name in names}
    return _matching(chosen["find"], wanted | times, PER_PAGE, offset())


def find_messages(text: str, limit: int) -> Page[Message]:
    """The newest messages that match the search text."""
    return _matching(text, {}, limit, 0)


def _matching(text: str, others: dict[str, Any], limit: int, start: int) -> Page[Message]:
    """The messages that match the text and the other filters. No text matches all."""
    meant = _meant(text) if text else {}
    page = MessageFilter(**others, **meant).page(account().id, limit, start)
    if not text or page.total:
        return page
    # Last, because a reference can look like anything else.
    return MessageFilter(**others, reference=text).page(account().id, limit, start)


def _meant(text: str) -> dict[str, Any]:
    """The filter for a search text that is no reference: an identifier, error code or phone number."""
    if text.startswith("msg_"):
        return {"message_id": text}
    digits = as_kept(text)
    if digits.isascii() and digits.isdecimal():
        is_code = text == digits and (len(digits) < LEAST_PHONE_DIGITS or explanation(digits))
        return {"error_code": digits} if is_code else _with(digits)
    return _with(text) if _USER_ID.fullmatch(text) else {"wa_message_id": text}


def _with(person: str) -> dict[str, Any]:
    return {"contact_ids": contact_search.called(account().id, person)}


def _is_under_way(row: Message, deliveries: Sequence[Delivery]) -> bool:
    now = clock.now()
    is_young = now - row.created_at < STATUS_LIKELY_MS
    return (is_young and row.status in UNDER_WAY) or any(
        delivery.state == DeliveryState.PENDING
        and abs((delivery.due_at or 0) - now) < ATTEMPT_LIKELY_MS
        for delivery in deliveries
    )
