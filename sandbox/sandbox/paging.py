"""Lists of the Graph API a page at a time (Graph API, Paginated results)."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from aiohttp import web

from sandbox import graph_errors

DEFAULT, MOST = 25, 1000
# Of a place in a list.
MOST_DIGITS = 6


def page(request: web.Request, items: list[dict[str, Any]]) -> dict[str, Any]:
    """The page that ``limit``, ``after`` and ``before`` ask for. Raises GraphError 100."""
    limit = _limit(request.query.get("limit", str(DEFAULT)))
    start = 0
    if "after" in request.query:
        start = _place(request.query["after"]) + 1
    elif "before" in request.query:
        start = max(0, _place(request.query["before"]) - limit)
    shown = items[start : start + limit]
    if not shown:
        return {"data": []}
    last = start + len(shown) - 1
    paging: dict[str, Any] = {"cursors": {"before": _cursor(start), "after": _cursor(last)}}
    if last + 1 < len(items):
        paging["next"] = str(request.url.update_query(after=_cursor(last)))
    if start > 0:
        paging["previous"] = str(request.url.update_query(before=_cursor(start)))
    return {"data": shown, "paging": paging}


def _limit(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:6]) <= MOST:
        raise graph_errors.parameter(f"Param limit must be from 1 to {MOST}.")
    return int(text)


def _cursor(place: int) -> str:
    return base64.urlsafe_b64encode(str(place).encode()).decode()


def _place(cursor: str) -> int:
    try:
        text = base64.urlsafe_b64decode(cursor.encode())
    except (ValueError, binascii.Error):
        text = b""
    if not text.isdigit() or len(text) > MOST_DIGITS:
        raise graph_errors.parameter("Invalid cursors values.")
    return int(text)
