"""The form in which the content of a message is kept."""

from typing import Any


def as_stored(body: dict[str, Any]) -> dict[str, Any]:
    """The content as Message.body shows it, in the form in which inbound messages are kept.

    An array is wrapped under its own name, and the context of a reply stands beside the content.
    """
    content = body[body["type"]]
    beside = {"context": body["context"]} if "context" in body else {}
    return beside | (content if isinstance(content, dict) else {body["type"]: content})
