"""A person writes to a business number."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from sandbox import clock, media
from sandbox.entities import CONNECTED, Inbound, Number
from sandbox.journal import Fact
from sandbox.network import Network
from sandbox.numbering import digits_of, new_wamid
from sandbox.people import USER_ID, Person, named

MAX_NAME = 128
# Types whose callback may come without an object of their own (Cloud API, Webhooks: messages).
BODILESS = {"unsupported", "request_welcome"}
# Keys of the control call that are not passed on as they are.
OWN_KEYS = {"to", "from", "from_user_id", "type", "profile_name", "name", "username", "context"}
# Keys that the platform sets.
RESERVED = {"id", "timestamp", "from_parent_user_id"}


def write(network: Network, body: dict[str, Any]) -> Inbound:
    """Record an inbound message from a control call. Raises ValueError with the reason.

    ``text`` may be a plain string. Other types pass their object on under their own key. The person's
    details in the call are stored.
    """
    number = _number(network, body.get("to"))
    person, known = _writer(network, body)
    if is_blocked(number, person):
        raise ValueError("the business has blocked this person")
    name = body.get("profile_name", person.name or f"Person {person.key[-4:]}")
    if not isinstance(name, str):
        raise ValueError("profile_name must be a text")  # noqa: TRY004 - one kind of error for callers
    kind, content = _content(body)
    if isinstance(content.get(kind), dict):
        content[kind] = media.describe(network, content[kind])
    fact = inbound_fact(number, person, kind, content | _context(network, body, number), name)
    network.record(*known, fact)
    return network.inbound[fact["id"]]


def inbound_fact(
    number: Number, person: Person, kind: str, content: dict[str, Any], name: str
) -> Fact:
    """The journal's fact about a message from a person."""
    wamid, now = new_wamid(person.visible_phone or person.user_id, inbound=True), clock.now()
    ids = {
        "from": person.visible_phone,
        "from_user_id": person.user_id,
        "from_parent_user_id": person.parent_user_id,
    }
    item: dict[str, Any] = {key: value for key, value in ids.items() if value is not None}
    item |= {"id": wamid, "timestamp": str(int(now)), "type": kind} | content
    return {
        "fact": "inbound",
        "id": wamid,
        "number_id": number.id,
        "person": person.key,
        "profile_name": name,
        "item": item,
        "at": now,
    }


def is_blocked(number: Number, person: Person) -> bool:
    """Whether the number has blocked the person, by any name."""
    return not set(person.names).isdisjoint(number.kept.get("block_users", ()))


def person_fact(person: Person) -> Fact:
    """The journal's fact about a person."""
    return {"fact": "person", **asdict(person)}


def _writer(network: Network, body: dict[str, Any]) -> tuple[Person, list[Fact]]:
    """The sender, and the facts to record if the call has new details of the sender."""
    phone, given = body.get("from"), body.get("from_user_id")
    key = named(phone) if isinstance(phone, str) else None
    if key is None and (phone is not None or given is None):
        raise ValueError("from must be the digits of a phone number, or a user id")
    if given is not None and not (isinstance(given, str) and USER_ID.fullmatch(given)):
        raise ValueError("from_user_id must be a user id, as US.13491208655302741918")
    first, second = key or str(given), given or str(key)
    person = _same_person(network, first, second)
    texts: dict[str, Any] = {each: body[each] for each in ("username", "name") if each in body}
    check_texts(texts)
    changed = replace(person)
    for each, value in texts.items():
        setattr(changed, each, value)
    before = network.people.find(second)
    if changed == before:
        return person, []
    moved = {"was": before.key} if before.key != changed.key else {}
    return changed, [person_fact(changed) | moved]


def _same_person(network: Network, key: str, given: str) -> Person:
    """Who has both this phone number and this user id, which may be one and the same name."""
    person, other = network.people.find(key), network.people.find(given)
    if person.user_id == other.user_id:
        return person
    both_known = network.people.is_known(key) and network.people.is_known(given)
    if other.phone is not None or both_known:
        raise ValueError("from and from_user_id belong to different people")
    # A person known by user id now has a phone number, or the reverse.
    if network.people.is_known(given):
        return replace(other, phone=person.phone)
    return replace(person, user_id=given, former=[*person.former, person.user_id])


def check_texts(texts: dict[str, Any]) -> None:
    """A username and a name are texts. Raises ValueError."""
    for name in ("username", "name"):
        value = texts.get(name)
        if value is not None and not (isinstance(value, str) and 1 <= len(value) <= MAX_NAME):
            raise ValueError(f"{name} must be a text of 1 to {MAX_NAME} characters")


def _number(network: Network, to: object) -> Number:
    number = network.numbers_by_digits.get(digits_of(to) or "") if isinstance(to, str) else None
    if number is None:
        raise ValueError("to must be the digits of a business number of this sandbox")
    if number.status != CONNECTED:
        raise ValueError(f"the number {number.digits} is {number.status}: nothing reaches it")
    return number


def _content(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    kind = body.get("type", "text")
    if not isinstance(kind, str) or not kind or kind in OWN_KEYS | RESERVED:
        raise ValueError("type must be the name of a message type")
    content = {name: value for name, value in body.items() if name not in OWN_KEYS | RESERVED}
    if isinstance(content.get("text"), str):
        content["text"] = {"body": content["text"]}
    if kind not in content and kind not in BODILESS:
        raise ValueError(f"{kind} is missing")
    if kind == "text" and not _is_text(content["text"]):
        raise ValueError("text must be a text, or an object with a text as body")
    if kind in content and not isinstance(content[kind], (dict, list)):
        raise ValueError(f"{kind} must be an object")
    return kind, content


def _is_text(text: object) -> bool:
    return isinstance(text, dict) and isinstance(text.get("body"), str) and bool(text["body"])


def _context(network: Network, body: dict[str, Any], number: Number) -> dict[str, Any]:
    context = body.get("context")
    if context is None:
        return {}
    if not isinstance(context, dict):
        raise ValueError("context must be an object")  # noqa: TRY004 - one kind of error for callers
    # The send API says message_id, callbacks say id and add whose message it was.
    quoted = context.get("id", context.get("message_id"))
    passed = {name: value for name, value in context.items() if name != "message_id"}
    own = network.inbound.get(quoted) if isinstance(quoted, str) else None
    author = network.people.find(own.person).visible_phone if own else number.digits
    whose = {"from": author} if author else {}
    return {"context": {**whose, "id": quoted, **passed} if quoted else passed}
