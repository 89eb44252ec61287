"""The filters of the templates: values as text or HTML for people."""

import json
import re
from typing import Any

import segno
from markupsafe import Markup, escape

from models.clock import timestamp
from models.messages.message import Message
from models.numbers.number import Number
from networks.registry import explained, network_of
from resources.broadcast import why_paused
from resources.message import errors_of
from resources.number import notice_object, problem_object, status_reason

# Characters. Each token takes a hundred bytes of HTML.
MOST_HIGHLIGHTED = 256 * 1024
TIER, UNLIMITED = "TIER_", "TIER_UNLIMITED"
Path = tuple[str | int, ...]
# The types of messages whose caption a person can edit.
CAPTIONED = ("image", "video", "document")
# By the type of a message, the places of its text. The first place with a text is used.
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
    "edit": tuple(
        ("message", *place)
        for place in (("text", "body"), *((kind, "caption") for kind in CAPTIONED))
    ),
}
_CAPTION: tuple[Path, ...] = (("caption",),)
# A string before a colon is the name of a member.
_TOKEN = re.compile(
    r'(?P<name>"(?:[^"\\]|\\.)*"(?=:))|(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?[0-9][0-9.eE+-]*)|(?P<word>true|false|null|NaN|-?Infinity)"
)


def words(name: str) -> str:
    """A name such as PENDING_DELETION in plain words."""
    text = name.replace("_", " ")
    return text.lower() if text.isupper() else text


def breakable(path: str) -> Markup:
    """The path or URL, escaped. A line may break after each slash except the first of a path."""
    return Markup("/<wbr>").join(re.split(r"(?<=[^:/])/", path))


def beside_badge(error: str | None) -> str:
    """The error of an attempt without its first words, which repeat the badge "no response"."""
    text = (error or "").removeprefix("No response: ")
    return text[:1].upper() + text[1:]


def failures(count: int) -> str:
    """The number of events that failed in the last 24 hours, as a sentence."""
    events = "event" if count == 1 else "events"
    return f"{count:,} {events} of the last 24 hours failed after all retries."


def limit_in_words(limit: str | None) -> str:
    """A messaging limit such as TIER_2K as people per 24 hours. Empty if unknown."""
    if limit is None:
        return ""
    count = "any number of" if limit == UNLIMITED else limit.removeprefix(TIER)
    return f"{count} people in 24 hours"


def excerpt(row: Message) -> str:
    """A message's text, caption or name; empty if it has none. Inbound content can have any shape."""
    places = _PLACES.get(row.type, _CAPTION)
    return next(filter(None, (_text(row.body, place) for place in places)), "")


def _text(value: Any, place: Path) -> str:
    for step in place:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step] if step < len(value) else None
    return value if isinstance(value, str) else ""


def highlighted(text: str) -> Markup:
    """JSON text, indented, with a class for each kind of token (static/finding.css). A large one as it is."""
    if len(text) > MOST_HIGHLIGHTED:
        return escape(text)
    written, parts, at = json.dumps(json.loads(text), indent=2, ensure_ascii=False), [], 0
    for token in _TOKEN.finditer(written):
        span = Markup('<span class="json-{}">{}</span>').format(token.lastgroup, token[0])
        parts += [escape(written[at : token.start()]), span]
        at = token.end()
    return Markup("").join([*parts, escape(written[at:])])


def qr_code(text: str, title: str) -> Markup:
    """The QR code as SVG, black on white in both themes: many scanners need that."""
    code = segno.make(text, error="m")
    # Segno escapes what it writes.
    return Markup(code.svg_inline(omitsize=True, border=4, dark="#000", light="#fff", title=title))  # noqa: S704


def span(milliseconds: int, units: int = 2) -> str:
    """A span of time in its largest units, such as ``4 min 30 s``; ``0 s`` if negative."""
    seconds = max(0, round(milliseconds / 1000))
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:units]) or "0 s"


def problems(number: Number) -> list[str]:
    """What is wrong with the callbacks about a number, in sentences."""
    return [problem_object(problem)["message"] for problem in number.problems]


def reason(number: Number) -> str:
    """Why a number is banned or disconnected, in words. Empty without a reason."""
    given = status_reason(number)
    return network_of(number).in_words(given) if given else ""


FILTERS = {
    "beside_badge": beside_badge,
    "breakable": breakable,
    "errors": errors_of,
    "excerpt": excerpt,
    "explained": explained,
    "failures": failures,
    "highlighted": highlighted,
    "iso": timestamp,
    "latest_notice": notice_object,
    "limit_in_words": limit_in_words,
    "minute": lambda at: timestamp(at)[: len("2026-11-20T09:30")].replace("T", " "),
    "second": lambda at: timestamp(at)[: len("2026-11-20T09:30:15")].replace("T", " "),
    # The sender or recipient of a message: a user id has no plus sign.
    "party": lambda who: f"+{who}" if who and who.isdecimal() else who,
    "pretty": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    "pause_reason": why_paused,
    "qr_code": qr_code,
    "problems": problems,
    "reason": reason,
    "span": span,
    "words": words,
}
