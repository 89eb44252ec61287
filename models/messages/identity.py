"""Identity: the contact of a person whom the network names, and what changes of identifiers mean.

What the network says comes in any order. A contact knows since when its values hold, so an older statement
replaces none of them. An identifier that a person gave up leads to the contact of that person for statements
about the time before. Two contacts of a number that turn out to be one person are merged. Everything runs in
the caller's transaction (docs/decisions/0041-one-contact-for-a-person.md).
"""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import cache, reduce
from operator import add
from typing import Any, NamedTuple

from models import clock
from models.database import Prepared, writing
from models.messages.contact import (
    CONSENT,
    CONTACT,
    FORMER,
    IDENTITY,
    IDS,
    SAVED_NAME,
    Contact,
    ContactChange,
    Source,
    kind_of,
    note_change,
)
from models.messages.message import Direction, Message
from models.numbers.number import Number

Identity = Mapping[str, str | None]
# What a send or its status names may be a correction, and not what the person has now.
UNSURE = (Source.SEND, Source.STATUS)


class _Found(NamedTuple):
    """The contacts with some identifiers at a time. ``past`` leads from those given up since to a contact."""

    people: list[Contact]
    past: dict[str, str]

    def has_id_of(self, contact: Contact, identity: Identity) -> bool:
        """Whether it is the contact of this user id, which identifies a person better than a phone number."""
        user_id = identity.get("user_id")
        return contact.user_id == user_id or self.past.get(user_id or "") == contact.id

    def best(self, identity: Identity) -> Contact:
        """The contact of the person with this identity."""
        return max(self.people, key=lambda contact: self.has_id_of(contact, identity))


def record(number: Number, identity: Identity, because: Source, at: int) -> tuple[Contact, bool]:
    """The contact of a person, created or updated. Also returns whether the account gets an event.

    ``identity`` has some of IDENTITY, as they were at this time. See ``update``.
    """
    found = _find(number.id, identity, at)
    if not found.people:
        return Contact.write(number, identity, at), False
    ours = found.best(identity)
    present = {name: value for name, value in identity.items() if value not in found.past}
    return ours, update(ours, present, because, at, is_change=False)


def change(number: Number, old: Identity, new: Identity, at: int) -> tuple[Contact, bool]:
    """Like ``record``, of a person of whom the network reports that ``new`` replaced ``old`` at this time."""
    becomes = {name: value for name, value in new.items() if value not in {None, old.get(name)}}
    after, just_before = _find(number.id, becomes, at), at - 1
    if after.people and not _find(number.id, old, just_before).people:
        contact, is_changed = after.best(becomes), False
    else:
        contact, is_changed = record(number, old, Source.NETWORK, just_before)
    before = {name: getattr(contact, name) for name in IDS}
    was_joined = contact.is_joined
    is_changed |= update(contact, becomes, Source.NETWORK, at, old=old)
    contact.is_joined |= was_joined
    _call_as_in(contact, old, at)
    for name in contact.values_of(becomes):
        _hold(contact, name, at)
    for name, value in before.items():
        # What the report does not name may have been kept until a later one.
        until = at if name in becomes else max(at, contact.since(name))
        for identifier in {value, old.get(name) if name in becomes else None}:
            if identifier is not None and identifier not in contact.identifiers:
                _leave(contact, identifier, until)
    return contact, is_changed


def _call_as_in(contact: Contact, item: Identity, at: int) -> None:
    """Let the person have the names in an item, unless they wrote later. A merge may bring earlier names."""
    names = {name: value for name, value in item.items() if name in IDENTITY and name not in IDS}
    if not contact.has_later_message(at) and (new := contact.differing(names)):
        with writing():
            contact.change(new, Source.NETWORK, at)


def is_known(number: Number, identity: Identity, at: int) -> bool:
    """Whether the number has a contact with one of the identifiers at this time."""
    return bool(_find(number.id, identity, at).people)


def update(
    contact: Contact,
    identity: Identity,
    because: Source,
    at: int,
    *,
    is_change: bool = True,
    old: Identity | None = None,
) -> bool:
    """Store new identifiers and names. The caller's transaction holds the lock of the person.

    ``is_change`` if the network reports the change itself, and ``old`` what it says the new values replace.
    Otherwise it names the person of an item, which may be older than what is known. Returns whether the
    account gets an event: the phone number changed, the user id was replaced, or two contacts turned out to
    be one person.
    """
    new = contact.differing(identity)
    # A late status may carry earlier identifiers.
    is_late = any(new.get(name) and getattr(contact, name) is not None for name in IDS)
    if not new or (because is Source.STATUS and is_late):
        return False
    if not is_change or because is Source.STATUS:
        identity = _present(contact, new, at)
    found = _find(contact.number_id, identity, None if old is None else at)
    known = {row.id: row for row in found.people}
    # It may have been merged into another one since it was read, or erased.
    fresh = known.get(contact.id) or Contact.find(contact.id)
    if fresh is None:
        return False
    before = fresh.identifiers
    others = [row for row in known.values() if row.id != fresh.id]
    theirs = {other.id: other.identifiers for other in others}
    lost = _taken_later(fresh, others, identity, found, at)
    identity = {name: value for name, value in identity.items() if name not in lost}
    is_merged = [_merge(fresh, other, identity, found, because, at) for other in others]
    for other in others:
        before |= theirs[other.id] if other.merged_into == fresh.id else set()
    if any(is_merged) and not is_change and fresh.has_later_message(at):
        # The other contact may have later names.
        identity = {name: value for name, value in identity.items() if name in IDS}
    changes = _changes(fresh, identity, old, lost, at)
    is_replaced = "phone" in changes or ("user_id" in changes and fresh.user_id is not None)
    given_up = [] if because in UNSURE else fresh.replaced_by(changes)
    with writing() if is_replaced else nullcontext():
        _move(fresh, changes, because, at)
    for identifier in given_up:
        # Items from this time on belong to its new owner.
        _leave(fresh, identifier, at - 1)
    contact.__data__.update(fresh.__data__)
    contact.is_joined = any(is_merged)
    new_ids = contact.identifiers - before
    if any(is_merged) or new_ids:
        contact.learned = frozenset(before | contact.identifiers)
    # A user id never has another owner. If it replaces one, the contact may have.
    has_same_owner = all(kind_of(each) == "phone" for each in before)
    contact.gained = frozenset(
        each for each in new_ids if kind_of(each) == "phone" or not has_same_owner
    )
    return is_replaced or any(is_merged)


def _find(number_id: str, identity: Identity, at: int | None) -> _Found:
    """The contacts with one of the identifiers, and with those that they gave up after ``at``."""
    wanted = {name: value for name in IDS if (value := identity.get(name))}
    if not wanted:
        return _Found([], {})
    values = (*wanted.values(), *(FORMER + value for value in wanted.values()))
    rows = list(_having(*wanted).execute(number_id, *values))
    past = {
        row.gave_up: row.merged_into for row in rows if row.gave_up and at and at < row.created_at
    }
    people = {}
    for row in rows:
        names = [name for name, v in wanted.items() if v == getattr(row, name) and v not in past]
        if names and row.merged_into is None:
            people[row.id] = row
    leading = {row.merged_into for row in rows if row.gave_up is None and row.phone not in past}
    others = {*leading, *past.values()} - {None, *people}
    return _Found([*people.values(), *map(Contact.get_by_id, others)], past)


def _present(contact: Contact, new: Mapping[str, str], at: int) -> dict[str, str]:
    """Of what an item names, what is not older than what is known of its person.

    It may carry earlier values. Then only what is missing counts, and what nobody else has by now.
    """
    if contact.has_later_message(at):
        missing = {name: new[name] for name in new if getattr(contact, name) is None}
        return _free(contact, missing)
    return {
        name: value
        for name, value in new.items()
        if name not in IDS or getattr(contact, name) is None or contact.since(name) <= at
    }


def _free(contact: Contact, identity: Mapping[str, str]) -> dict[str, str]:
    """The values that no contact with another user id has."""
    mine = identity.get("user_id") or contact.user_id
    others = [
        other
        for other in Contact.having(contact.number_id, identity)
        if other.id != contact.id and None not in {mine, other.user_id} and mine != other.user_id
    ]
    taken = {getattr(other, name) for other in others for name in IDS}
    return {name: value for name, value in identity.items() if value not in taken}


def _changes(
    contact: Contact, identity: Identity, old: Identity | None, lost: Iterable[str], at: int
) -> dict[str, str | None]:
    """The columns to change. ``lost`` are the identifiers that have another owner by now."""
    new = contact.differing(identity)
    if old is None:
        return {**new}
    # A report may name no value that it replaces.
    given_up = [
        name for name in lost if getattr(contact, name) == old.get(name) or contact.since(name) < at
    ]
    return {**_without_outdated(contact, new, old, at), **dict.fromkeys(given_up)}


def _without_outdated(
    contact: Contact, new: Mapping[str, str], old: Identity, at: int
) -> dict[str, str]:
    """The new values without those that the person gave up since: these lead to the contact."""
    left = dict(new)
    for name in IDS:
        value = getattr(contact, name)
        if name not in new or value is None:
            continue
        is_replaced_now = value == old.get(name)
        until = _last_reported(contact, name) if is_replaced_now else contact.since(name)
        if until > at:
            _leave(contact, left.pop(name), until)
    return left


def _last_reported(contact: Contact, name: str) -> int:
    """When the network's latest change of this identifier was, 0 for never."""
    changes = ContactChange.select().where(
        ContactChange.contact_id == contact.id,
        ContactChange.field == name,
        ContactChange.because == Source.NETWORK,
        ContactChange.old.is_null(is_null=False),
    )
    latest = changes.order_by(ContactChange.at.desc()).first()
    return 0 if latest is None else int(latest.at)


def _hold(contact: Contact, name: str, at: int) -> None:
    """The person has had the identifier since this time, and not only since it was seen."""
    if at < contact.since(name):
        with writing():
            line, value = contact.beginning(name), getattr(contact, name)
            if line is None:
                note_change(contact.id, name, value, value, Source.NETWORK, at)
            else:
                line.assign({"at": at})


def _leave(contact: Contact, identifier: str, at: int) -> None:
    """The person gave up an identifier at this time."""
    with writing():
        of_number = Contact.select().where(Contact.number == contact.number_id)
        row = of_number.where(Contact.user_id == FORMER + identifier).first()
        if row is None:
            Contact.create(
                id=clock.new_id("ctc"),
                account=contact.account_id,
                number=contact.number_id,
                user_id=FORMER + identifier,
                merged_into=contact.id,
                created_at=at,
            )
        elif row.created_at < at:
            row.assign({"merged_into": contact.id, "created_at": at})
        else:
            return
    contact.learned |= contact.identifiers


def _taken_later(
    contact: Contact, others: Iterable[Contact], identity: Identity, found: _Found, at: int
) -> set[str]:
    """The names of the identifiers that another person got after this time."""
    return {
        name
        for other in others
        if not _is_same(contact, other, identity, found)
        for name in IDS
        if identity.get(name) == getattr(other, name) is not None and other.since(name) > at
    }


def _is_same(contact: Contact, other: Contact, identity: Identity, found: _Found) -> bool:
    """Whether another contact is the person who has this identity. Another user id is another person."""
    mine = identity.get("user_id") or contact.user_id
    is_same = None in {mine, other.user_id} or mine == other.user_id
    return is_same or other.id in found.past.values()


def _merge(
    contact: Contact, other: Contact, identity: Identity, found: _Found, because: Source, at: int
) -> bool:
    """Take these identifiers from another contact. Returns whether it was merged.

    It is the same person, unless it has another user id: then the phone number got another owner.
    """
    with writing():
        if _is_same(contact, other, identity, found):
            _absorb(contact, other, because, at)
            return True
        lost = (name for name in IDS if identity.get(name) == getattr(other, name) is not None)
        other.change(dict.fromkeys(lost), because, at)
        return False


def _move(contact: Contact, new: Mapping[str, str | None], because: Source, at: int) -> None:
    """Change these columns. A phone number that the network corrected still leads here."""
    given = contact.phone if because is Source.SEND else None
    if phone := new.get("phone"):
        leading = Contact.update(phone=None).where(Contact.merged_into.is_null(is_null=False))
        leading.where(Contact.number == contact.number_id, Contact.phone == phone).execute()
    contact.change(new, because, at)
    if phone and given:
        Contact.create(
            id=clock.new_id("ctc"),
            account=contact.account_id,
            number=contact.number_id,
            phone=given,
            merged_into=contact.id,
            created_at=at,
        )


def _absorb(contact: Contact, other: Contact, because: Source, at: int) -> None:
    """Merge another contact into this one: its messages, its history, and its values that are later."""
    taken = _later_values(contact, other)
    since = {name: other.since(name) for name in IDS if name in taken}
    Message.update(contact_id=contact.id).where(Message.contact_id == other.id).execute()
    ContactChange.update(contact_id=contact.id).where(
        ContactChange.contact_id == other.id
    ).execute()
    Contact.update(merged_into=contact.id).where(Contact.merged_into == other.id).execute()
    other.assign(dict.fromkeys(IDS) | {"merged_into": contact.id})
    contact.assign(taken)
    for name, when in since.items():
        note_change(contact.id, name, None, taken[name], because, when)
    note_change(contact.id, CONTACT, other.id, contact.id, because, at)


def _later_values(contact: Contact, other: Contact) -> dict[str, Any]:
    """The values of another contact of the person that this one lacks, or that it has for longer."""
    names = (*IDENTITY, SAVED_NAME, "note", *CONSENT)
    is_newer = _named_at(contact) < _named_at(other)
    is_later = {name: is_newer for name in IDENTITY if name not in IDS}
    is_later |= {name: contact.since(name) < other.since(name) for name in IDS}
    taken = {
        name: value
        for name in names
        if (value := getattr(other, name)) is not None
        and (getattr(contact, name) is None or is_later.get(name, False))
    }
    mine, theirs = (each.last_change(SAVED_NAME) for each in (contact, other))
    if mine is not None and theirs is not None:
        taken[SAVED_NAME] = (theirs if mine.at < theirs.at else mine).new
    return taken


def _named_at(contact: Contact) -> tuple[int, int]:
    """When the person wrote last, and since when the name is known. A message in history has no name."""
    since = contact.since("name")
    return max(since, contact.last_message_at(Direction.INBOUND) or 0), since


@cache
def _having(*names: str) -> Prepared:
    """The rows of a number with one of these identifiers, and with one that a person gave up."""

    def build(number_id: Any, *values: Any) -> Any:
        of_number = Contact.select().where(Contact.number == number_id)
        columns = [*names, *(["user_id"] * len(names))]
        named = zip(columns, values, strict=True)
        return reduce(add, (of_number.where(getattr(Contact, n) == value) for n, value in named))

    return Prepared(build, Contact)
