"""The keyword ``x-parser`` of the contract: a parser judges the text, as in the commands and pages.

The pattern beside it is for clients. It is no narrower than the parser.
"""

from collections.abc import Callable
from typing import Any

from models.addresses import is_email, is_link

NOT_EMAIL = "An email address has a name in ASCII, one @ and a valid domain, like a@example.com."
NOT_LINK = "A link begins with http:// or https:// and a valid host, and has no spaces."
PARSERS: dict[str, tuple[Callable[[str], bool], str]] = {
    "email": (is_email, NOT_EMAIL),
    "link": (is_link, NOT_LINK),
}


class Parser:
    """The validator of one occurrence of the keyword."""

    def __init__(self, _parent: object, name: str, _place: object) -> None:
        self._fits, self._sentence = PARSERS[name]

    def validate(self, value: Any) -> None:
        """Raise ValueError with the reason. The pattern decides about an empty text."""
        if isinstance(value, str) and value and not self._fits(value):
            raise ValueError(self._sentence)


KEYWORDS: dict[str, Any] = {"x-parser": Parser}
