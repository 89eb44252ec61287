"""Pages of long lists: ``?page=2`` and so on, next to the URL's other parameters."""

from urllib.parse import urlencode

from flask import request

PER_PAGE = 50
MAX_PAGE = 1_000_000


def page_number() -> int:
    """The page number in the URL, from 1."""
    asked = request.args.get("page", "1")
    is_number = asked.isascii() and asked.isdecimal() and len(asked) < len(str(MAX_PAGE))
    return max(1, int(asked)) if is_number else 1


def offset() -> int:
    """The number of rows before this page."""
    return (page_number() - 1) * PER_PAGE


def address_of(page: int) -> str:
    """The query of another page of the same list, with the same filters."""
    kept = [(name, value) for name, value in request.args.items() if name != "page"]
    return "?" + urlencode([*kept, ("page", str(page))], errors="replace")
