"""Finds the page of any identifier of the gateway."""

from collections.abc import Callable
from typing import Any

from dashboard.guard import account
from models.accounts.api_key import ApiKey
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook
from models.messages.contact import Contact
from models.messages.message import Message
from models.numbers.number import Number
from models.numbers.signup import SignupLink


def page_of(identifier: str) -> str | None:
    """The URL of the page. None if there is none or it belongs to another account."""
    find = _PAGES.get(identifier.partition("_")[0])
    return None if find is None else find(identifier)


def _page(folder: str, find: Callable[[str], Any]) -> Callable[[str], str | None]:
    def page(identifier: str) -> str | None:
        row = find(identifier)
        is_ours = row is not None and row.account_id == account().id
        return f"/dashboard/{folder}/{row.id}" if is_ours else None

    return page


def _of_key(identifier: str) -> str | None:
    row = ApiKey.by_id(identifier)
    return "/dashboard/keys" if row is not None and row.account_id == account().id else None


def _of_delivery(identifier: str) -> str | None:
    row = Delivery.find(identifier)
    is_ours = row is not None and row.webhook.account_id == account().id
    return f"/dashboard/deliveries/{identifier}" if is_ours else None


def _of_attempt(identifier: str) -> str | None:
    row = Attempt.by_id(identifier)
    page = None if row is None else _of_delivery(row.delivery_id)
    return page and f"{page}#{identifier}"


def _of_event(identifier: str) -> str | None:
    """The page of the event's delivery. Several deliveries are listed instead."""
    event = Event.by_id(identifier)
    if event is None or event.account_id != account().id:
        return None
    deliveries = Delivery.of_events([identifier])
    if len(deliveries) > 1:
        return None
    return _of_delivery(deliveries[0].id) if deliveries else page_of(event.subject_id)


_PAGES: dict[str, Callable[[str], str | None]] = {
    "msg": _page("messages", Message.by_id),
    "num": _page("numbers", Number.by_id),
    "wh": _page("webhooks", Webhook.by_id),
    "ctc": _page("contacts", Contact.find),
    "sl": _page("links", SignupLink.by_id),
    "dlv": _of_delivery,
    "att": _of_attempt,
    "evt": _of_event,
    "key": _of_key,
}
