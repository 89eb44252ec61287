"""A person writes to a business number."""

from __future__ import annotations

from typing import Any

from sandbox import clock, media
from sandbox.entities import CONNECTED, Inbound, Number
from sandbox.numbering import digits_of, new_wamid, user_id
from sandbox.state import Network

# Types whose callback may come without an object of their own (Cloud API, Webhooks: messages).
BODILESS = {"unsupported", "request_welcome"}
# Keys of the control call that are not passed on as they are.
OWN_KEYS = {"to", "from", "type", "profile_name", "context"}
# What the platform sets itself.
RESERVED = {"id", "timestamp", "from_user_id"}


def write(network: Network, body: dict[str, Any]) -> Inbound:
    """Record an inbound message from a control call. Raises ValueError with the reason.

    ``text`` may be a plain string; any other type passes its object on under its own key.
    """
    number = _number(network, body.get("to"))
    person = digits_of(body["from"]) if isinstance(body.get("from"), str) else None
    if person is None:
        raise ValueError("from must be the digits of a phone number")
    if person in number.kept.get("block_users", ()):
        raise ValueError("the business has blocked this person")
    name = body.get("profile_name", f"Person {person[-4:]}")
    if not isinstance(name, str):
        raise ValueError("profile_name must be a text")  # noqa: TRY004 - one kind of error for callers
    kind, content = _content(body)
    if isinstance(content.get(kind), dict):
        content[kind] = media.describe(network, content[kind])
    wamid, now = new_wamid(person, inbound=True), clock.now()
    item = {
        "from": person,
        "from_user_id": user_id(person),
        "id": wamid,
        "timestamp": str(int(now)),
        "type": kind,
    }
    item |= content | _context(network, body, number)
    network.record(
        {
            "fact": "inbound",
            "id": wamid,
            "number_id": number.id,
            "person": person,
            "profile_name": name,
            "item": item,
            "at": now,
        }
    )
    return network.inbound[wamid]


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
    author = own.person if own else number.digits
    return {"context": {"from": author, "id": quoted, **passed} if quoted else passed}
