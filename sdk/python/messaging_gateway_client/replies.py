"""Responses: whole ones, the pages of lists, and those that are read in pieces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from messaging_gateway_client.errors import NoResponseError, error_of

if TYPE_CHECKING:
    from collections.abc import Mapping

# More than a page can have, in bytes.
MAX_BODY = 64 * 1024 * 1024


class Reply(NamedTuple):
    """A response whose body was read."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def checked(self, *, is_json: bool) -> Reply:
        """Itself. Raises GatewayError unless it is a success, with a JSON object if ``is_json``."""
        if self.status not in range(200, 300):
            raise error_of(self.status, self.headers, self.body)
        if is_json and not isinstance(self.json(), dict):
            raise unusable("The response is no JSON object. Check the address.", self.status)
        return self

    def json(self) -> Any:
        """The value of the body. None if it is no JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def unusable(message: str, status: int | None = None) -> NoResponseError:
    """The error of a response that is not what the contract describes."""
    return NoResponseError(message, may_have_arrived=True, status=status)


def items_of(page: Mapping[str, Any]) -> list[Any]:
    """The items of a page."""
    items = page.get("data")
    if isinstance(items, list):
        return items
    raise unusable("The page has no list in data.")


def next_query(page: Mapping[str, Any], query: Mapping[str, Any]) -> dict[str, Any] | None:
    """The query of the next page, None after the last one. A gateway of release 1.0 pages by offset."""
    pagination = page.get("pagination")
    if isinstance(pagination, dict) and "nextCursor" not in pagination:
        offset = pagination.get("offset", 0) + len(items_of(page))
        has_more = items_of(page) and offset < pagination.get("total", 0)
        return {**query, "offset": offset} if has_more else None
    holder = pagination if isinstance(pagination, dict) else page
    cursor = holder.get("nextCursor", holder.get("after"))
    return None if cursor in {None, query.get("after")} else {**query, "after": cursor}


def file_name(disposition: str) -> str | None:
    """The file name of a Content-Disposition, without folders."""
    from email.message import Message  # noqa: PLC0415 - it takes long to import

    parser = Message()
    parser["Content-Disposition"] = disposition
    name = parser.get_filename()
    return name.replace("\\", "/").rpartition("/")[2] if name else None
