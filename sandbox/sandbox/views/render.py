"""The templates of the page with the phones."""

from __future__ import annotations

import time
from typing import Any

from jinja2 import ChainableUndefined, Environment, PackageLoader

from sandbox.conversations import Entry
from sandbox.views import answers, links, prose

# What is shown was checked by the platform's rules only as far as the platform checks: a property
# that is missing or of another kind leaves its place empty, and never breaks the page.
_templates = Environment(
    loader=PackageLoader("sandbox", "templates/phone"),
    autoescape=True,
    undefined=ChainableUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


_TYPES = {each for each in _templates.list_templates() if each.startswith("types/")}


def page(**shown: Any) -> str:
    """The whole page; see ``templates/phone/page.html`` for what it wants."""
    return _templates.get_template("page.html").render(**shown)


def controls(**shown: Any) -> str:
    """The page of the controls; see ``templates/phone/controls.html`` for what it wants."""
    return _templates.get_template("controls.html").render(**shown)


def bubble(entry: Entry) -> str:
    """One message, as a list item."""
    return _templates.get_template("bubble.html").render(entry=entry)


def separator(entry: Entry) -> dict[str, str]:
    """The list item above the first message of a day; its id is the same for all messages of the day."""
    return {"id": _day(entry.at), "html": _templates.get_template("day.html").render(at=entry.at)}


def _clock_time(at: float) -> str:
    return time.strftime("%H:%M", time.localtime(at))


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))


def _day_in_words(at: float) -> str:
    return time.strftime("%A, %d %B %Y", time.localtime(at))


def _objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list; none when it is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _type_template(kind: str) -> str:
    name = f"types/{kind}.html"
    return name if name in _TYPES else "types/unknown.html"


_templates.filters |= {
    "type_template": _type_template,
    "clock_time": _clock_time,
    "day": _day,
    "day_in_words": _day_in_words,
    "objects": _objects,
    "prose": prose.marked_up,
    "first_link": links.first_link,
    "host": links.host,
    "web_address": links.web_address,
    "media_path": links.media_path,
    "button_reply": answers.button_reply,
    "list_reply": answers.list_reply,
    "quick_reply": answers.quick_reply,
    "button_label": answers.button_label,
    "parameter_text": answers.parameter_text,
}
