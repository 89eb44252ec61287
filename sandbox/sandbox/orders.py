"""Checking a send request (Cloud API reference, Messages)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sandbox import graph_errors
from sandbox.bodies import decoded
from sandbox.contents import BETWEEN_PARTS, CONTENTS
from sandbox.contents.spelling import in_lower_case
from sandbox.contents.validators import MESSAGE_ID
from sandbox.entities import Number
from sandbox.graph_errors import GraphError
from sandbox.numbering import digits_of
from sandbox.people import USER_ID, wa_id

MAX_OPAQUE = 512
RECIPIENT_TYPE, INDIVIDUAL, GROUP = "recipient_type", "individual", "group"
# Optional members that are stored with the message, under their wire names.
EXTRAS = ("biz_opaque_callback_data", "context")


@dataclass(frozen=True, slots=True)
class Order:
    """A send request in its shape.

    ``to`` is a wa_id, or a user id if ``by_user_id``, or the id of a group if ``to_group``; ``given_to`` is
    what the client wrote. ``flaw`` is the error with which the platform refuses a request of the right
    shape, or None.
    """

    to: str
    given_to: str
    type: str
    content: Any
    extras: dict[str, Any]
    flaw: GraphError | None
    by_user_id: bool = False
    to_group: bool = False


def check(payload: dict[str, Any], number: Number) -> Order:
    """The order in a body whose product has been checked.

    Raises GraphError 100, 131008 or 131009.
    """
    to_group = _is_to_group(payload)
    to, given_to, by_user_id = _group(payload) if to_group else _recipient(payload)
    kind = _type(payload)
    content = _content(payload, kind)
    _check_extras(payload)
    extras = {name: payload[name] for name in EXTRAS if name in payload}
    extras |= {RECIPIENT_TYPE: GROUP} if to_group else {}
    flaw = graph_errors.known(131021) if to == number.digits else _flaw(kind, content)
    return Order(to, given_to, kind, content, extras, flaw, by_user_id, to_group)


def _is_to_group(payload: dict[str, Any]) -> bool:
    kind = str(payload.get(RECIPIENT_TYPE, INDIVIDUAL)).lower()
    if kind not in {INDIVIDUAL, GROUP}:
        raise graph_errors.parameter("Param recipient_type must be one of {INDIVIDUAL, GROUP}")
    return kind == GROUP


def _group(payload: dict[str, Any]) -> tuple[str, str, bool]:
    """The id of a group, like ``_recipient``. Groups are known by the messages that people write in them."""
    given = payload.get("to")
    if not isinstance(given, str) or not given:
        raise graph_errors.parameter("The parameter to is required.")
    return given, given, False


def _recipient(payload: dict[str, Any]) -> tuple[str, str, bool]:
    """The recipient, the name that the client wrote, and whether it is a user id. With both, ``to`` wins."""
    given = payload.get("to") or payload.get("recipient")
    if given is None or given == "":
        raise graph_errors.parameter("The parameter to is required.")
    if not payload.get("to"):
        if not isinstance(given, str) or not USER_ID.fullmatch(given):
            raise graph_errors.known(
                131009, "Parameter 'recipient' is not a business-scoped user id."
            )
        return given, given, True
    digits = digits_of(given) if isinstance(given, str) else None
    if digits is None:
        raise graph_errors.known(131009, "Parameter 'to' is not a valid phone number.")
    return wa_id(digits), given, False


def _type(payload: dict[str, Any]) -> str:
    kind = payload.get("type", "text")
    if not isinstance(kind, str) or kind not in CONTENTS:
        listed = ", ".join(each.upper() for each in CONTENTS)
        raise graph_errors.parameter(f'Param type must be one of {{{listed}}} - got "{kind}".')
    return kind


def _content(payload: dict[str, Any], kind: str) -> object:
    # Clients write the whole content as a JSON text, too.
    content = decoded(payload.get(kind))
    if content is None:
        raise graph_errors.known(131008, f"Parameter '{kind}' is mandatory for type '{kind}'")
    if kind == "template":
        content = in_lower_case(content)
    CONTENTS[kind](kind, content)
    return content


def _flaw(kind: str, content: Any) -> GraphError | None:
    if kind in BETWEEN_PARTS:
        try:
            BETWEEN_PARTS[kind](content)
        except GraphError as error:
            return error
    return None


def _check_extras(payload: dict[str, Any]) -> None:
    opaque = payload.get("biz_opaque_callback_data", "")
    if not isinstance(opaque, str) or len(opaque) > MAX_OPAQUE:
        raise graph_errors.parameter(
            f"Param biz_opaque_callback_data must be at most {MAX_OPAQUE} characters long."
        )
    if "context" in payload:
        context = payload["context"]
        quoted = context.get("message_id") if isinstance(context, dict) else None
        MESSAGE_ID("context['message_id']", quoted)
