"""The Contact object of the contract, and the changes in its history."""

from collections.abc import Mapping
from typing import Any

from models import clock
from models.clock import moment, timestamp
from models.messages.contact import CONTACT, OPTED_OUT, SAVED_NAME, Contact, ContactChange
from models.messages.message import Direction
from models.numbers.number import Number
from networks.registry import network_of
from resources.call import last_calls
from resources.message import person

# The contract's names of the values that may change.
FIELDS = {
    "phone": "phone",
    "user_id": "userId",
    "parent_user_id": "parentUserId",
    "username": "username",
    "name": "name",
    OPTED_OUT: "optedOut",
    CONTACT: "contact",
    SAVED_NAME: "savedName",
}


def contact_object(
    contact: Contact, number: Number | None = None, calls: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The Contact object of a row, with the times of the newest messages in each direction.

    ``number`` and ``calls``, those of last_calls(), spare a query if the caller has read them already.
    """
    inbound, outbound = map(contact.last_message_at, (Direction.INBOUND, Direction.OUTBOUND))
    called = last_calls([contact.id]) if calls is None else calls
    open_until = None
    if inbound is not None or called:
        number = number or Number.get_by_id(contact.number_id)
        open_until = window_open_until(number, contact, inbound, called)
    return contact_with_times(contact, inbound, outbound, open_until)


def contact_with_times(
    contact: Contact, inbound: int | None, outbound: int | None, open_until: int | None = None
) -> dict[str, Any]:
    """The Contact object, with the times of the newest messages and the end of the window."""
    return {
        "id": contact.id,
        "numberId": contact.number_id,
        **person(contact),
        "savedName": contact.saved_name,
        "optedOut": contact.opted_out_at is not None,
        "optedOutAt": moment(contact.opted_out_at),
        "optedOutBecause": contact.opted_out_because,
        "note": contact.note,
        "windowOpenUntil": moment(open_until),
        "lastInboundAt": moment(inbound),
        "lastOutboundAt": moment(outbound),
        "createdAt": timestamp(contact.created_at),
    }


def contact_change_object(change: ContactChange) -> dict[str, Any]:
    return {
        "field": FIELDS[change.field],
        "old": change.old,
        "new": change.new,
        "because": change.because,
        "at": timestamp(change.at),
    }


def window_open_until(
    number: Number, contact: Contact, last_inbound: int | None, calls: Mapping[str, int]
) -> int | None:
    """When the customer service window closes, from the person's last message or call. None if it is closed.

    The newest message that opens the window is read only if the last message is recent.
    """
    wrote = _closes_at(number, last_inbound) and _closes_at(number, contact.window_opened_at())
    called = _closes_at(number, calls.get(contact.id))
    return max(filter(None, (wrote, called)), default=None)


def _closes_at(number: Number, opened_at: int | None) -> int | None:
    if opened_at is None:
        return None
    closes_at = opened_at + network_of(number).service_window_ms
    return closes_at if closes_at > clock.now() else None
