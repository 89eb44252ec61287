"""Pagination: limit and offset of every list."""

from typing import Any

import pytest

from contract_tests.conformance.exchange import Api
from contract_tests.conformance.world import Hooks, Sandbox, new_recipient, send

LISTS = ["/numbers", "/messages", "/webhooks", "/webhooks/{webhook}/deliveries"]
MANY = 25


@pytest.fixture(params=LISTS)
def path(
    request: pytest.FixtureRequest, hooks: Hooks, sandbox: Sandbox, number: dict[str, str]
) -> str:
    """Each list, with at least one item."""
    hook = hooks("message.received")
    sandbox.write(number["phoneNumber"], new_recipient())
    hook.wait()
    return str(request.param).format(webhook=hook.id)


def page(api: Api, path: str, **query: int | str) -> tuple[list[str], dict[str, Any]]:
    """The identifiers of a page, and its pagination."""
    found = api.get(path, params={name: str(value) for name, value in query.items()})
    return [item["id"] for item in found["data"]], found["pagination"]


def test_a_page_contains_its_limit_offset_and_total(api: Api, path: str) -> None:
    """pagination.total, pagination.limit, pagination.offset: integer."""
    _, standing = page(api, path)
    assert set(standing) == {"total", "limit", "offset", "nextCursor"}
    assert all(type(standing[name]) is int for name in ("total", "limit", "offset"))


def test_the_defaults_are_20_and_0(api: Api, path: str) -> None:
    """'limit: default 20'; 'offset: default 0'."""
    _, standing = page(api, path)
    assert (standing["limit"], standing["offset"]) == (20, 0)


@pytest.mark.parametrize("limit", [1, 99, 100])
def test_a_limit_is_at_most_100(api: Api, path: str, limit: int) -> None:
    """limit: maximum 100."""
    items, standing = page(api, path, limit=limit)
    assert standing["limit"] == limit
    assert len(items) == min(limit, standing["total"])


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=101",
        "limit=-1",
        "limit=1.0",
        "limit=ten",
        "limit=1e1",
        "limit=0x10",
        "offset=-1",
        "offset=x",
        "offset=9007199254740992",
        "offset=99999999999999999999999999999999999",
    ],
)
def test_a_limit_or_offset_out_of_range_is_refused(api: Api, path: str, query: str) -> None:
    """400 VALIDATION_ERROR: [...] query parameters fail validation."""
    refused = api.call("GET", f"{path}?{query}", 400)
    assert query.partition("=")[0] in refused.json()["error"]["message"]
    assert api.contract.refuses(refused.request)


@pytest.mark.parametrize("offset", [1000, 9007199254740991])
def test_a_page_past_the_end_is_empty(api: Api, path: str, offset: int) -> None:
    """The paginated object with the total, although the page is empty."""
    items, standing = page(api, path, offset=offset)
    assert items == []
    assert standing["offset"] == offset
    assert standing["total"] == page(api, path)[1]["total"] > 0


def test_more_than_a_page_is_read_page_by_page(
    api: Api, hooks: Hooks, number: dict[str, str]
) -> None:
    """'List endpoints accept query parameters limit and offset': every item once, in order."""
    hook = hooks("message.sent")
    for _ in range(MANY):
        send(api, number["id"], new_recipient())
    hook.wait(MANY)
    path = f"/webhooks/{hook.id}/deliveries"
    whole, standing = page(api, path, limit=100)
    assert standing == {"total": MANY, "limit": 100, "offset": 0, "nextCursor": None}
    assert len(set(whole)) == MANY
    first, standing = page(api, path)
    assert first == whole[:20]
    assert page(api, path, after=standing["nextCursor"])[0] == whole[20:]
    second, standing = page(api, path, offset=20)
    assert second == whole[20:]
    assert standing == {"total": MANY, "limit": 20, "offset": 20, "nextCursor": None}
    by_seven = [page(api, path, limit=7, offset=offset)[0] for offset in range(0, MANY, 7)]
    assert [item for items in by_seven for item in items] == whole


def test_the_total_counts_the_filtered_items(api: Api, number: dict[str, str]) -> None:
    """'pagination.total' of a filtered list."""
    send(api, number["id"], new_recipient())
    everything = page(api, "/messages")[1]["total"]
    parts = [
        api.get("/messages", params={"direction": direction})["pagination"]["total"]
        for direction in ("INBOUND", "OUTBOUND")
    ]
    assert sum(parts) == everything


def test_an_empty_list_is_a_page_too(fresh_api: Api) -> None:
    """An empty account."""
    for path in ("/numbers", "/messages", "/webhooks"):
        _, standing = page(fresh_api, path)
        assert standing == {"total": 0, "limit": 20, "offset": 0, "nextCursor": None}
