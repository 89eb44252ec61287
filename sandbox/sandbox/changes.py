"""Changes of a person's number, user id, username, or marketing preference.

Cloud API, Webhooks: system messages, ``user_id_update`` and ``user_preferences``.
"""

from __future__ import annotations

import copy
import secrets
from typing import Any

from sandbox import clock
from sandbox.entities import Number
from sandbox.inbound import check_texts, inbound_fact, person_fact
from sandbox.journal import Fact
from sandbox.network import Network
from sandbox.numbering import digits_of, user_id
from sandbox.people import USER_ID, Person, named, wa_id

PROPERTIES = ("phone", "hidden", "user_id", "parent_user_id", "username", "name", "marketing")
STOP, RESUME = "stop", "resume"


def change(network: Network, body: dict[str, Any]) -> tuple[Person, list[str]]:
    """Change or create a person. Returns the keys of the updates about it.

    ``person`` is a phone number or user id. Only numbers that have exchanged messages with the person receive
    the updates. Raises ValueError with the reason, and then changes nothing.
    """
    before = _found(network, body)
    after = _changed(network, before, body)
    numbers = [each for each in network.numbers.values() if _knows(network, each, before)]
    marketing = _marketing(network, after, body, numbers)
    facts: list[Fact] = [
        fact for number in numbers for fact in _news(number, before, after) + marketing(number)
    ]
    moved = {"was": before.key} if before.key != after.key else {}
    network.record({**person_fact(after), **moved}, *facts)
    return after, [fact["id"] if fact["fact"] == "inbound" else fact["key"] for fact in facts]


def _found(network: Network, body: dict[str, Any]) -> Person:
    unknown = sorted(set(body) - {"person", *PROPERTIES, "waba_id"})
    if unknown:
        raise ValueError(f"unknown property {unknown[0]}")
    given = body.get("person")
    key = named(given) if isinstance(given, str) else None
    if key is None:
        raise ValueError("person must be a phone number, or a user id as US.13491208655302741918")
    return network.people.find(key)


def _changed(network: Network, before: Person, body: dict[str, Any]) -> Person:
    after = copy.deepcopy(before)
    check_texts(body)
    _set_phone(network, after, body)
    _set_user_ids(network, after, body)
    if "hidden" in body:
        if not isinstance(body["hidden"], bool):
            raise ValueError("hidden must be true or false")
        after.hidden = body["hidden"]
    for name in ("username", "name"):
        if name in body:
            setattr(after, name, body[name])
    given_up = set(before.names) - set(after.names)
    after.former = [*after.former, *sorted(given_up)]
    return after


def _set_phone(network: Network, person: Person, body: dict[str, Any]) -> None:
    given = body.get("phone")
    if given is None:
        return
    digits = digits_of(given) if isinstance(given, str) else None
    if digits is None:
        raise ValueError("phone must be the digits of a phone number")
    phone = wa_id(digits)
    _require_free(network, person, phone, "phone")
    if person.phone not in (None, phone) and "user_id" not in body:
        # The user id changes with the number.
        person.user_id = user_id(phone)
    person.phone = phone


def _set_user_ids(network: Network, person: Person, body: dict[str, Any]) -> None:
    for name in ("user_id", "parent_user_id"):
        value = body.get(name)
        if value is None:
            continue
        if not isinstance(value, str) or not USER_ID.fullmatch(value):
            raise ValueError(f"{name} must be a user id, as US.13491208655302741918")
        if (".ENT." in value) is not (name == "parent_user_id"):
            raise ValueError("only a parent_user_id has ENT. after the country")
        _require_free(network, person, value, name)
        setattr(person, name, value)


def _require_free(network: Network, person: Person, name: str, what: str) -> None:
    if network.people.is_known(name) and name not in person.names:
        raise ValueError(f"{what} belongs to somebody else")
    if name in person.former:
        raise ValueError(f"{what} has been given up and does not come back")


def _knows(network: Network, number: Number, person: Person) -> bool:
    return (number.id, person.key) in network.exchanges.of


def _marketing(
    network: Network, person: Person, body: dict[str, Any], numbers: list[Number]
) -> Any:
    """Opt the person out of marketing, or back in. Returns the update for each number."""
    value, waba_id = body.get("marketing"), body.get("waba_id")
    if value not in (None, STOP, RESUME):
        raise ValueError("marketing must be stop or resume")
    if waba_id is not None and waba_id not in network.wabas:
        raise ValueError("waba_id must be that of an account that exists")
    if value is None:
        return lambda _: []
    touched = {number.waba_id for number in numbers} if waba_id is None else {waba_id}
    if not touched:
        raise ValueError("no account has exchanged messages with the person; waba_id names one")
    kept = [each for each in person.stopped if each not in touched]
    person.stopped = [*kept, *sorted(touched)] if value == STOP else kept
    return lambda number: [_preference(number, person, value)] if number.waba_id in touched else []


def _news(number: Number, before: Person, after: Person) -> list[Fact]:
    who = after.name or "Somebody"
    system: dict[str, Any] = {"user_id": after.user_id}
    if after.parent_user_id is not None:
        system["parent_user_id"] = after.parent_user_id
    if before.phone not in (None, after.phone):
        if not after.hidden:
            system["wa_id"] = after.phone
        # The text of the message hides a hidden number too.
        old, new = before.visible_phone or before.user_id, after.visible_phone or after.user_id
        system |= {"type": "user_changed_number", "body": f"User {who} changed from {old} to {new}"}
        return [_system(number, before, after, system)]
    if before.user_id != after.user_id:
        text = f"User {who} changed from {before.user_id} to {after.user_id}"
        system |= {"type": "user_changed_user_id", "body": text}
        system["previous_user_id"] = before.user_id
        return [_system(number, before, after, system), _update(number, before, after)]
    return []


def _system(number: Number, before: Person, after: Person, system: dict[str, Any]) -> Fact:
    """An update about a person, from the former identity, in the conversation of the new one."""
    fact = inbound_fact(number, before, "system", {"system": system}, "")
    return {**fact, "person": after.key}


def _update(number: Number, before: Person, after: Person) -> Fact:
    ids = {"previous": before.user_id, "current": after.user_id}
    update = {"user_id": ids, "detail": "The user id has changed", "timestamp": int(clock.now())}
    if after.visible_phone is not None:
        update["wa_id"] = after.visible_phone
    return _account(number, after, "user_id_update", update)


def _preference(number: Number, person: Person, value: str) -> Fact:
    word = "stop" if value == STOP else "resume"
    preference: dict[str, Any] = {
        "user_id": person.user_id,
        "detail": f"User requested to {word} marketing messages",
        "category": "marketing_messages",
        "value": value,
        "timestamp": int(clock.now()),
    }
    if person.visible_phone is not None:
        preference["wa_id"] = person.visible_phone
    return _account(number, person, "user_preferences", preference)


def _account(number: Number, person: Person, field: str, item: dict[str, Any]) -> Fact:
    contact = {"user_id": person.user_id}
    if person.visible_phone is not None:
        contact["wa_id"] = person.visible_phone
    return {
        "fact": "account",
        "key": "person-" + secrets.token_hex(8),
        "waba_id": number.waba_id,
        "entry_id": number.waba_id,
        "value": {
            "messaging_product": "whatsapp",
            "metadata": {"display_phone_number": number.digits, "phone_number_id": number.id},
            "contacts": [contact],
            field: [item],
        },
        "at": clock.now(),
        "webhook_field": field,
    }
