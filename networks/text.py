"""JSON as the platform writes it."""

import json
from typing import Any


def read_json(body: bytes) -> Any:
    """What a body says. Raises ValueError for what is no JSON.

    Apps that cut a text leave half of a surrogate pair, which can be neither stored nor sent on: a
    replacement character stands in its place.
    """
    try:
        value = json.loads(body)
        text = json.dumps(value, ensure_ascii=False)
        # Halves of a pair are not printable. Most bodies need no second look.
        return value if text.isprintable() else json.loads(text.encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("It is nested too deeply.") from None
