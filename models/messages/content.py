"""The content of messages and templates: its stored form, and the bound of what clients send."""

import json
from typing import Any

import orjson

from models.errors import InvalidError

# The content of a message that its author deleted.
EMPTY = "{}"
# Bytes of content that a client sends: of a message or a template. Larger content that was received is whole
# in its row, and left out elsewhere.
MOST_CONTENT = 64 * 1024


def as_json(body: Any) -> str:
    """Content in the stored form: compact JSON. A text of the network that is not Unicode is escaped."""
    try:
        return orjson.dumps(body).decode()
    except orjson.JSONEncodeError:
        return json.dumps(body, separators=(",", ":"))


def check_size(content: Any, field: str) -> None:
    """Raise InvalidError for content from a client that is larger than MOST_CONTENT.

    ``field`` is its JSON pointer.
    """
    if (size := len(as_json(content).encode())) > MOST_CONTENT:
        raise InvalidError(
            f"Request body, {field[1:]}: it has {size:,} bytes as JSON without blanks, and"
            f" {MOST_CONTENT:,} are allowed. Shorten it.",
            field=field,
        )
