"""Reply buttons and lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from sandbox import errors
from sandbox.contents import media
from sandbox.contents.checks import array, by_word, fields, text, value_error, word

MOST_ROWS = 10
MOST_SECTIONS = 10

TEXT_HEADER = fields({"type": word("text"), "text": text(60)})
FOOTER = fields({"text": text(60)})
BUTTONS_HEADER = by_word("type", {"text": TEXT_HEADER, **media.HEADERS})
BUTTON = fields(
    {"type": word("reply"), "reply": fields({"id": text(256), "title": text(20)})},
)
BUTTONS = fields(
    {
        "type": word("button"),
        "body": fields({"text": text(1024)}),
        "action": fields({"buttons": array(BUTTON, 3)}),
    },
    {"header": BUTTONS_HEADER, "footer": FOOTER},
)
ROW = fields({"id": text(200), "title": text(24)}, {"description": text(72, least=0)})
SECTION = fields({"rows": array(ROW, MOST_ROWS)}, {"title": text(24)})
LIST = fields(
    {
        "type": word("list"),
        "body": fields({"text": text(4096)}),
        "action": fields({"button": text(20), "sections": array(SECTION, MOST_SECTIONS)}),
    },
    # A list has no other header than text.
    {"header": TEXT_HEADER, "footer": FOOTER},
)
INTERACTIVE = by_word("type", {"button": BUTTONS, "list": LIST})


def check_parts(value: dict[str, Any]) -> None:
    """What holds between the parts of an interactive message. Raises GraphError."""
    if value["type"] == "button":
        _check_buttons([button["reply"] for button in value["action"]["buttons"]])
    else:
        _check_sections(value["action"]["sections"])


def _check_buttons(replies: list[dict[str, Any]]) -> None:
    _require_unique("Button title", (reply["title"] for reply in replies))
    _require_unique("Button id", (reply["id"] for reply in replies))


def _check_sections(sections: list[dict[str, Any]]) -> None:
    rows = [row for section in sections for row in section["rows"]]
    if len(rows) > MOST_ROWS:
        raise value_error(f"Total row count exceeds {MOST_ROWS}")
    _require_unique("Row id", (row["id"] for row in rows))
    if len(sections) > 1 and not all("title" in section for section in sections):
        raise errors.known(131008, "Section title is required when there is more than one section")


def _require_unique(what: str, values: Iterable[str]) -> None:
    [(value, count)] = Counter(values).most_common(1)
    if count > 1:
        raise value_error(f"{what} is not unique: {value}")
