"""What of a message's content the contract's schema cannot say, and the form in which it is kept.

The rules of interactive messages are the network's (Cloud API reference, Messages).
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from handlers.errors import InvalidError

MOST_ROWS = 10


def check_content(body: dict[str, Any]) -> None:
    """Raise InvalidError, which names the place, unless the content makes sense."""
    if body["type"] == "interactive":
        interactive = body["interactive"]
        check = {"button": _check_buttons, "list": _check_list}[interactive["type"]]
        check(interactive["action"])


def as_stored(body: dict[str, Any]) -> dict[str, Any]:
    """The content as Message.body shows it, in the form in which inbound messages are kept.

    An array is wrapped under its own name, and the context of a reply stands beside the content.
    """
    content = body[body["type"]]
    beside = {"context": body["context"]} if "context" in body else {}
    return beside | (content if isinstance(content, dict) else {body["type"]: content})


def _check_buttons(action: dict[str, Any]) -> None:
    replies = [button["reply"] for button in action["buttons"]]
    for name in ("id", "title"):
        _require_unique("buttons", f"reply.{name}", (reply[name] for reply in replies))


def _check_list(action: dict[str, Any]) -> None:
    sections = action["sections"]
    rows = [row for section in sections for row in section["rows"]]
    if len(rows) > MOST_ROWS:
        raise _invalid("sections", f"{len(rows)} rows in all, and at most {MOST_ROWS} are allowed.")
    _require_unique("sections", "row's id", (row["id"] for row in rows))
    for position, section in enumerate(sections):
        if len(sections) > 1 and "title" not in section:
            raise _invalid(
                f"sections.{position}",
                '"title" is a required property where there are several sections.',
            )


def _require_unique(place: str, what: str, values: Iterable[str]) -> None:
    value, count = Counter(values).most_common(1)[0]
    if count > 1:
        raise _invalid(place, f"the {what} {value!r} is given {count} times.")


def _invalid(place: str, message: str) -> InvalidError:
    return InvalidError(f"Request body, interactive.action.{place}: {message}")
