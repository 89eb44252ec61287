"""The limit on content that clients send and the gateway stores: of messages and templates."""

from typing import Any

from models.errors import InvalidError
from models.messages.message import MOST_CONTENT, as_json


def check_size(content: Any, field: str) -> None:
    """Raise InvalidError for content that is larger than MOST_CONTENT. ``field`` is its JSON pointer."""
    if (size := len(as_json(content).encode())) > MOST_CONTENT:
        raise InvalidError(
            f"Request body, {field[1:]}: it has {size:,} bytes as JSON without blanks, and"
            f" {MOST_CONTENT:,} are allowed. Shorten it.",
            field=field,
        )
