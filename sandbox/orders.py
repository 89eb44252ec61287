"""Checking a send request (Cloud API reference, Messages)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sandbox import errors
from sandbox.contents import CONTENTS
from sandbox.contents.checks import MESSAGE_ID
from sandbox.entities import Number
from sandbox.numbering import digits_of

MAX_OPAQUE = 512
# Kept with the message when given, under the names they have on the wire.
EXTRAS = ("biz_opaque_callback_data", "context")


@dataclass(frozen=True, slots=True)
class Order:
    """A send request that the platform would accept.

    ``to`` is bare digits, ``given_to`` what the client wrote.
    """

    to: str
    given_to: str
    type: str
    content: Any
    extras: dict[str, Any]


def check(payload: dict[str, Any], number: Number) -> Order:
    """The order in a body whose product has been checked.

    Raises GraphError 100, 131008, 131009 or 131021.
    """
    given_to = payload.get("to")
    if given_to is None or given_to == "":
        raise errors.parameter("The parameter to is required.")
    to = digits_of(given_to) if isinstance(given_to, str) else None
    if to is None:
        raise errors.known(131009, "Parameter 'to' is not a valid phone number.")
    if to == number.digits:
        raise errors.known(131021)
    if payload.get("recipient_type", "individual") != "individual":
        raise errors.parameter("Param recipient_type must be one of {INDIVIDUAL}")
    kind = _type(payload)
    content = _content(payload, kind)
    _check_extras(payload)
    return Order(
        to, given_to, kind, content, {name: payload[name] for name in EXTRAS if name in payload}
    )


def _type(payload: dict[str, Any]) -> str:
    kind = payload.get("type", "text")
    if not isinstance(kind, str) or kind not in CONTENTS:
        listed = ", ".join(each.upper() for each in CONTENTS)
        raise errors.parameter(f'Param type must be one of {{{listed}}} - got "{kind}".')
    return kind


def _content(payload: dict[str, Any], kind: str) -> object:
    content = payload.get(kind)
    if content is None:
        raise errors.known(131008, f"Parameter '{kind}' is mandatory for type '{kind}'")
    CONTENTS[kind](kind, content)
    return content


def _check_extras(payload: dict[str, Any]) -> None:
    opaque = payload.get("biz_opaque_callback_data", "")
    if not isinstance(opaque, str) or len(opaque) > MAX_OPAQUE:
        raise errors.parameter(
            f"Param biz_opaque_callback_data must be at most {MAX_OPAQUE} characters long."
        )
    if "context" in payload:
        context = payload["context"]
        quoted = context.get("message_id") if isinstance(context, dict) else None
        MESSAGE_ID("context['message_id']", quoted)
