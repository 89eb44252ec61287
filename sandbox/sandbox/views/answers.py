"""What a press of a button sends (Cloud API, Webhooks: messages), and how templates are worded."""

from __future__ import annotations

import json
from typing import Any

# The objects of a template's parameter that hold its fallback text.
_FALLBACKS = ("currency", "date_time")


def button_reply(reply: object) -> str:
    """The inbound message, as JSON, that a reply button sends."""
    return _interactive("button_reply", reply, ("id", "title"))


def list_reply(row: object) -> str:
    """The inbound message, as JSON, that the choice of a row sends."""
    return _interactive("list_reply", row, ("id", "title", "description"))


def quick_reply(button: dict[str, Any]) -> str:
    """The inbound message, as JSON, that a template's button sends.

    The platform stores the button's text with the template. The sandbox shows the payload instead.
    """
    label = button_label(button)
    answer = {"payload": _first(button, "payload") or label, "text": label}
    return json.dumps({"type": "button", "button": answer})


def button_label(button: dict[str, Any]) -> str:
    """The label of a template's button whose text is unknown."""
    given = _first(button, "payload") or _first(button, "text") or _first(button, "coupon_code")
    return given or f"Button {button.get('index', '')}".strip()


def parameter_text(parameter: dict[str, Any]) -> str:
    """The text that replaces a template's parameter."""
    for name in _FALLBACKS:
        if isinstance(value := parameter.get(name), dict):
            return str(value.get("fallback_value", ""))
    return str(parameter.get("text", ""))


def _interactive(kind: str, chosen: object, names: tuple[str, ...]) -> str:
    given = chosen if isinstance(chosen, dict) else {}
    reply = {name: given[name] for name in names if name in given}
    return json.dumps({"type": "interactive", "interactive": {"type": kind, kind: reply}})


def _first(button: dict[str, Any], name: str) -> str:
    parameters = button.get("parameters")
    for each in parameters if isinstance(parameters, list) else []:
        if isinstance(each, dict) and isinstance(value := each.get(name), str) and value:
            return value
    return ""
