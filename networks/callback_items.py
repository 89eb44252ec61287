"""What the platform's callbacks tell: the items that networks.callbacks makes of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Person:
    """Whom an item is about, as far as the platform says. ``phone`` is in digits, ``name`` the profile's.

    Source: Cloud API, business-scoped user ids.
    """

    phone: str | None = None
    user_id: str | None = None
    parent_user_id: str | None = None
    username: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class InboundMessage:
    """A message from a person. ``at`` is in milliseconds since the epoch, 0 if unknown.

    ``sender`` is a phone number (digits), or the platform's identifier of a person who hides theirs.
    ``content`` is the value under the key named like the type (anything but an object is wrapped under
    that name), and beside it all other members: ``context`` of a reply, ``referral`` of an
    advertisement, ``errors``, ``identity``, and members that the platform adds later. ``becomes`` are the new
    identifiers of a person, if the message tells that they changed.
    """

    phone_number_id: str
    wa_message_id: str
    sender: str
    type: str
    content: dict[str, Any]
    at: int
    person: Person = Person()
    becomes: Person | None = None


@dataclass(frozen=True)
class Pricing:
    """What the platform charges for a message. None for what it does not say."""

    billable: bool | None
    model: str | None
    category: str | None
    type: str | None


@dataclass(frozen=True)
class StatusUpdate:
    """A status of a message. ``reference`` is the one of OutboundMessage.

    ``errors`` are all errors of a failure, each its code and its text.
    """

    phone_number_id: str
    wa_message_id: str
    status: str
    reference: str | None
    errors: tuple[tuple[str, str], ...]
    at: int
    person: Person = Person()
    pricing: Pricing | None = None


@dataclass(frozen=True)
class PersonUpdate:
    """News of a person: other identifiers, or marketing messages stopped or resumed."""

    phone_number_id: str
    person: Person
    becomes: Person | None
    opted_out: bool | None
    at: int


@dataclass(frozen=True)
class AccountUpdate:
    """An event of a business account, and so of all its numbers.

    ``event`` is the platform's word, ``detail`` its ban state if there is one. ``at`` is in
    milliseconds, 0 if unknown.
    """

    waba_id: str
    event: str
    detail: str | None
    value: dict[str, Any]
    at: int


@dataclass(frozen=True)
class Notice:
    """Any other news of an account or of one of its numbers (digits).

    ``field`` is the subject; ``messages`` is a problem that belongs to no message, a status that is none of
    STATUSES, or members of a value that we do not know.
    """

    waba_id: str
    field: str
    phone_number: str | None
    value: dict[str, Any]
    at: int


@dataclass(frozen=True)
class Unreadable:
    """No callback at all, or an item without an identifier or object: of no use, now or later."""

    error: str


Item = InboundMessage | StatusUpdate | PersonUpdate | AccountUpdate | Notice | Unreadable


@dataclass(frozen=True)
class Part:
    """One item of a callback. ``body`` makes a callback with this item only, which parse() reads alike."""

    item: Item
    body: Callable[[], bytes]
