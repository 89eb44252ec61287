"""Summarizes a message in one line for lists, which also show the type if it is not a text.

Inbound content comes from the network, so its shape is not trusted.
"""

from typing import Any

from models.messages.message import Message

Path = tuple[str | int, ...]
# By type, the places of the text. The first place with a text is used.
_PLACES: dict[str, tuple[Path, ...]] = {
    "text": (("body",),),
    "template": (("name",),),
    "document": (("caption",), ("filename",)),
    "location": (("name",), ("address",)),
    "contacts": (("contacts", 0, "name", "formatted_name"),),
    "reaction": (("emoji",),),
    "interactive": (("body", "text"), ("button_reply", "title"), ("list_reply", "title")),
    "button": (("text",),),
    "order": (("text",),),
    "system": (("body",),),
}
_CAPTION: tuple[Path, ...] = (("caption",),)


def excerpt(row: Message) -> str:
    """A message's text, caption or name; empty if it has none."""
    places = _PLACES.get(row.type, _CAPTION)
    return next(filter(None, (_text(row.body, place) for place in places)), "")


def _text(value: Any, place: Path) -> str:
    for step in place:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step] if step < len(value) else None
    return value if isinstance(value, str) else ""
