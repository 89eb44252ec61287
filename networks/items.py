"""The items that a network reads from its callbacks."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from networks.exceptions import ErrorDetails


@dataclass(frozen=True)
class Person:
    """The person of an item, None for unknown values. ``phone`` is in digits, ``name`` is from the profile.

    Source: Cloud API, business-scoped user ids.
    """

    phone: str | None = None
    user_id: str | None = None
    parent_user_id: str | None = None
    username: str | None = None
    name: str | None = None


class Change(StrEnum):
    """What a message does to an earlier one of the same person."""

    EDITED = "edited"
    DELETED = "deleted"


@dataclass(frozen=True)
class InboundMessage:
    """A message from a person. ``at`` is in milliseconds since the epoch, 0 if unknown.

    ``sender`` is a phone number (digits), or the platform's identifier of a person who hides the number.
    ``content`` is the value of the member named like the type. If it is not an object, it is wrapped under
    that name. All other members are added to it: ``context`` of a reply, ``referral`` of an advertisement,
    ``errors``, ``identity``, and members that the platform adds later. ``becomes`` are the new identifiers
    of the person if the message announces a change.

    ``target`` is the network's identifier of the message that this one replies to, reacts to, edits or
    deletes. ``change`` is set if it edits or deletes it. ``group`` is the network's identifier of the group
    in which the message was written. ``opens_window``: whether free-form messages may follow for a while.
    """

    phone_number_id: str
    wa_message_id: str
    sender: str
    type: str
    content: dict[str, Any]
    at: int
    person: Person = Person()
    becomes: Person | None = None
    target: str | None = None
    change: Change | None = None
    group: str | None = None
    opens_window: bool = True


@dataclass(frozen=True)
class AppMessage:
    """A message of the network's own app, which the owner of a number uses beside the gateway.

    The owner has just written it, or it ``is_history`` in either direction, from before the number was
    connected. ``person`` and ``other_party``, a phone number or user id, are whom the owner writes with.
    ``status`` is that of StatusUpdate, None if it is unknown. A message that ``is_placeholder`` is replaced
    by a later one with the same identifier. The other values are those of InboundMessage.
    """

    phone_number_id: str
    wa_message_id: str
    other_party: str
    is_outbound: bool
    type: str
    content: dict[str, Any]
    at: int
    person: Person
    target: str | None = None
    change: Change | None = None
    group: str | None = None
    status: str | None = None
    is_history: bool = False
    is_placeholder: bool = False


@dataclass(frozen=True)
class AppContact:
    """The name under which the owner of a number keeps a person in the network's app, None if removed."""

    phone_number_id: str
    person: Person
    name: str | None
    at: int


@dataclass(frozen=True)
class CallUpdate:
    """A change of a call between a number and a person, ``is_outbound`` if the number called.

    ``event`` is the network's word for what happened, and ``status`` its result if it has one. ``details`` is
    all that the network sent. The other values are those of AppMessage.
    """

    phone_number_id: str
    call_id: str
    other_party: str
    is_outbound: bool
    event: str
    status: str | None
    details: dict[str, Any]
    at: int
    person: Person


@dataclass(frozen=True)
class Pricing:
    """The platform's pricing of a message. None for unknown values."""

    billable: bool | None
    model: str | None
    category: str | None
    type: str | None


@dataclass(frozen=True)
class StatusUpdate:
    """A status of a message. ``reference`` is that of OutboundMessage.

    ``errors`` are the code and the text of each error of a failure, ``error_details`` the rest of each.
    """

    phone_number_id: str
    wa_message_id: str
    status: str
    reference: str | None
    errors: tuple[tuple[str, str], ...]
    at: int
    person: Person = Person()
    pricing: Pricing | None = None
    error_details: tuple[ErrorDetails, ...] = ()


@dataclass(frozen=True)
class PersonUpdate:
    """A change of a person: new identifiers (``becomes``), or an opt-out or opt-in of marketing."""

    phone_number_id: str
    person: Person
    becomes: Person | None
    opted_out: bool | None
    at: int


class AccountEffect(StrEnum):
    """What an event of a business account may have done to its numbers."""

    SUSPENDED = "suspended"
    REINSTATED = "reinstated"
    RECONNECTED = "reconnected"
    LOST = "lost"
    # Another provider of the account lost it.
    OF_ANOTHER_APP = "of another app"


@dataclass(frozen=True)
class AccountUpdate:
    """An event of a business account, and so of all numbers of it, in the platform's words.

    ``at`` is in milliseconds, 0 if unknown.
    """

    waba_id: str
    effect: AccountEffect
    event: str
    at: int


@dataclass(frozen=True)
class TemplateChange:
    """The new values of a template, under the names of TemplateDefinition. Empty if they are not known."""

    template_id: str
    values: dict[str, str | None]


@dataclass(frozen=True)
class Restriction:
    """What numbers may not do, in the platform's name, until a time in milliseconds. None if unknown."""

    type: str
    until: int | None


@dataclass(frozen=True)
class BusinessLimits:
    """How many conversations a number may begin in a day, and how many numbers there may be.

    None for those that are not in the news.
    """

    conversations_of_number: int | None = None
    numbers_of_business: int | None = None
    numbers_of_account: int | None = None


@dataclass(frozen=True)
class NumberNews:
    """What a notice says about the numbers of an account, or about one: new values, and a description.

    ``values`` have the names of NumberProfile. Those that are None are not in the news. ``limits`` is None if
    it names none.
    """

    values: dict[str, str | None]
    description: str | None
    phone_number_id: str | None
    restrictions: tuple[Restriction, ...] = ()
    limits: BusinessLimits | None = None


@dataclass(frozen=True)
class PlatformNotice:
    """Any other information about an account or one of its numbers (digits).

    ``field`` is the subject, and ``event`` the platform's name of what happened. The field ``messages``
    stands for an error without a message, a status outside of STATUSES, or unknown members of a value.
    ``news`` and ``template`` are None if it is not about numbers or a template.
    """

    waba_id: str
    field: str
    phone_number: str | None
    value: dict[str, Any]
    at: int
    event: str
    news: NumberNews | None = None
    template: TemplateChange | None = None


@dataclass(frozen=True)
class Unreadable:
    """A body that is no callback, or an item without an identifier or object. It can never be ingested."""

    error: str


Item = (
    InboundMessage
    | AppMessage
    | AppContact
    | CallUpdate
    | StatusUpdate
    | PersonUpdate
    | AccountUpdate
    | PlatformNotice
    | Unreadable
)


def identifiers(item: Item) -> set[str]:
    """The identifiers of the person whom an item is about. Empty if it is about no person, or a group."""
    people = [getattr(item, name, None) for name in ("person", "becomes")]
    found = (
        identifier
        for person in people
        if person is not None
        for identifier in (person.phone, person.user_id, person.parent_user_id)
    )
    return {identifier for identifier in found if identifier is not None}


@dataclass(frozen=True)
class Part:
    """One item of a callback. ``body`` returns a callback with only this item, for parse()."""

    item: Item
    body: Callable[[], bytes]
