"""The cursor of every list: each item once and in order, also while the list changes."""

import asyncio
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest

from handlers import (
    audit,
    contacts,
    deliveries,
    messages,
    numbers,
    suppressions,
    templates,
    usage,
    webhooks,
)
from models.accounts.account import Account
from models.accounts.actor import OPERATOR, acting
from models.database import writing
from models.deliveries.webhook import Webhook
from models.errors import NotFoundError
from models.messages.template import TemplateList
from models.numbers.number import Number
from models.reports.usage import UsageTotal
from services import accounts, consent, network_failures, template_copy
from services import templates as template_service
from tests import factories
from tests.asgi import content_of
from tests.conftest import Clock
from tests.fake_templates import Network, definition

ITEMS = 5
SINCE = "2026-01-01T00:00:00Z"
List = Callable[..., Any]


class Lists:
    """The lists of an account. ``add`` has what adds an item, ``read`` the operation."""

    def __init__(self, number: Number, webhook: Webhook, key_id: str) -> None:
        account = Account.get_by_id(number.account_id)
        user = account.id
        self.add: dict[str, Callable[[int], object]] = {
            "numbers": lambda n: factories.active_number(account, f"11{n:02}", f"21{n:02}"),
            "webhooks": lambda _: factories.webhook(account),
            "contacts": lambda n: factories.contact(number, phone=f"1556000{n:04}", name="Ana"),
            "messages": lambda n: factories.outbound(number, f"1556000{n:04}"),
            "suppressions": lambda n: consent.suppress(user, f"1556000{n:04}", None, None),
            "deliveries": lambda _: factories.deliveries(account, webhook),
            "audit": lambda n: accounts.set_plan(account, ("pro", "starter")[n % 2]),
            "usage": lambda n: _count(number, f"2026-11-{20 - n:02}"),
            "templates": lambda n: _copy(number, f"name_{99 - n}"),
        }
        self.read: dict[str, List] = {
            "numbers": lambda **page: numbers.list_numbers(user, **page),
            "webhooks": lambda **page: webhooks.list_webhooks(user, **page),
            "contacts": lambda **page: contacts.list_contacts(user, name="na", **page),
            "messages": lambda **page: _parsed(
                messages.list_messages(user, since=page.pop("since", None), **page)
            ),
            "suppressions": lambda **page: suppressions.list_suppressions(user, **page),
            "deliveries": lambda **page: deliveries.list_webhook_deliveries(
                user, webhook.id, **page
            ),
            "audit": lambda **page: audit.list_audit(user, key_id, **page),
            "usage": lambda **page: usage.list_usage(user, **page),
            "templates": lambda **page: _parsed(
                asyncio.run(templates.list_templates(user, number.id, **page))
            ),
        }


def _count(number: Number, day: str) -> None:
    with writing():
        UsageTotal.create(
            account_id=number.account_id,
            day=day,
            number_id=number.id,
            direction="INBOUND",
            category="",
            billable=False,
            total=1,
        )


def _copy(number: Number, name: str) -> None:
    template_copy.add(number, definition(name, template_id=name))
    with writing():
        TemplateList.update(due_at=2**52, read_at=1).execute()


def _parsed(answer: Any) -> Any:
    return json.loads(content_of(answer))


@pytest.fixture
def lists(account: Account, number: Number, monkeypatch: pytest.MonkeyPatch) -> Lists:
    """The lists, of which most have ITEMS."""
    network = Network()
    for module in (template_service, network_failures):
        monkeypatch.setattr(module, "network_of", lambda _: network)
    with acting(OPERATOR):
        key, _ = accounts.create_key(account, "shop")
    return Lists(number, factories.webhook(account), key.id)


NAMES = (
    "numbers",
    "webhooks",
    "contacts",
    "messages",
    "suppressions",
    "deliveries",
    "audit",
    "usage",
    "templates",
)


def _walk(read: List, after_each: Callable[[], object]) -> list[Any]:
    """The items of all pages of two."""
    page = read(limit=2, offset=0)
    found = list(page["data"])
    while (cursor := page["pagination"]["nextCursor"]) is not None:
        after_each()
        page = read(limit=2, offset=0, after=cursor)
        found += page["data"]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_pages_have_each_item_once_and_in_order_while_others_are_added(
    clock: Clock, lists: Lists, name: str
) -> None:
    for number in range(ITEMS):
        clock.advance(seconds=1)
        lists.add[name](number)
    read, added = lists.read[name], iter(range(ITEMS, 2 * ITEMS))
    whole = read(limit=100, offset=0)
    assert whole["pagination"]["nextCursor"] is None
    assert len(whole["data"]) >= ITEMS
    walked = _walk(read, lambda: lists.add[name](next(added)))
    assert walked == whole["data"]


def test_messages_of_a_time_have_a_cursor_by_time(clock: Clock, lists: Lists) -> None:
    for number in range(ITEMS):
        clock.advance(seconds=1)
        lists.add["messages"](number)

    def read(**page: Any) -> Any:
        return lists.read["messages"](since=SINCE, **page)

    assert _walk(read, lambda: None) == read(limit=100, offset=0)["data"]


def test_the_last_full_page_has_no_cursor(lists: Lists) -> None:
    for number in range(4):
        lists.add["messages"](number)
    read = lists.read["messages"]
    assert read(limit=2, offset=2)["pagination"]["nextCursor"] is None
    first = read(limit=2, offset=0)["pagination"]["nextCursor"]
    second = read(limit=2, offset=0, after=first)
    assert (len(second["data"]), second["pagination"]["nextCursor"]) == (2, None)


def _cursor(*place: Any) -> str:
    return urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "ÿ",
        "AAAA",
        _cursor(),
        _cursor("message"),
        _cursor("message", 1),
        _cursor("message", None),
        _cursor("message", ["a"]),
        _cursor("message", "a\0"),
        _cursor("message", "a", "b"),
        _cursor("webhook", "wh_1"),
        urlsafe_b64encode(b'{"message":1}').decode(),
    ],
)
def test_a_cursor_of_no_page_of_the_list_is_not_found(lists: Lists, cursor: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        lists.read["messages"](limit=2, offset=0, after=cursor)
    assert caught.value.details["field"] == "/after"


@pytest.mark.parametrize("day", [1, 2**63, "2026-11-20", True])
def test_the_values_of_a_cursor_have_the_types_of_their_columns(lists: Lists, day: Any) -> None:
    place = ["usage_total", "acc_1", day, "num_1", "INBOUND", "", 1]
    with pytest.raises(NotFoundError):
        lists.read["usage"](limit=2, offset=0, after=_cursor(*place))
