"""Listing, creating and deleting templates: the calls to the network, and the visibility by account."""

import asyncio
import json
from typing import Any

import pytest

from handlers import templates as handlers
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.database import writing
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.errors import (
    ConflictError,
    DomainError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    RateLimitedError,
)
from models.messages.template import Template, TemplateList
from models.numbers.number import Number, NumberStatus
from networks import exceptions
from networks.interface import TemplateDefinition
from resources.error import STATUS
from services import network_failures, template_copy, template_reads
from services import templates as service
from tests import factories
from tests.asgi import content_of
from tests.conftest import Clock
from tests.fake_templates import BODY, Network, definition

OTHER = {"type": "BODY", "text": "It is here."}
NEW = {"name": "sale", "language": "de", "category": "MARKETING", "components": [BODY]}


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """A network with two templates of one name, and another one."""
    network = Network(
        definition(template_id="502", language="en_US", quality_score="GREEN"),
        definition(template_id="501", language="de", status="PAUSED"),
        definition("hello", template_id="503", category="MARKETING"),
    )
    for module in (service, network_failures, template_reads):
        monkeypatch.setattr(module, "network_of", lambda _: network)
    monkeypatch.setattr(template_reads, "_begun", {})
    return network


def _list(number: Number, limit: int = 20, offset: int = 0, **wanted: Any) -> Any:
    listed = handlers.list_templates(number.account_id, number.id, limit, offset, **wanted)
    return json.loads(content_of(asyncio.run(listed)))


def _create(number: Number, **changes: Any) -> Any:
    return asyncio.run(handlers.create_template(number.account_id, number.id, NEW | changes))


def _delete(number: Number, name: str, template_id: str | None = None) -> int:
    deleted = handlers.delete_template(number.account_id, number.id, name, template_id)
    return asyncio.run(deleted).status_code


def _edit(number: Number, template_id: str = "502", **changes: Any) -> Any:
    edited = handlers.update_template(number.account_id, number.id, template_id, changes)
    return asyncio.run(edited)


def _refresh(number: Number) -> int:
    return asyncio.run(handlers.refresh_templates(number.account_id, number.id)).status_code


def _ids(page: Any) -> list[str]:
    return [each["id"] for each in page["data"]]


def _told() -> list[tuple[str, str]]:
    """The template and status of each event."""
    data = [json.loads(event.payload)["data"] for event in Event.select().order_by(Event.id)]
    return [(each["name"], each["status"]) for each in data]


def test_templates_are_read_once_and_listed_by_name_and_language(
    number: Number, network: Network
) -> None:
    page = _list(number)
    assert _ids(page) == ["503", "501", "502"]
    assert page["pagination"] == {"total": 3, "limit": 20, "offset": 0, "nextCursor": None}
    assert page["data"][2]["numberIds"] == [number.id]
    assert page["data"][2]["qualityScore"] == "GREEN"
    assert _ids(_list(number, limit=1, offset=1)) == ["501"]
    assert network.asked == [("list", "2001")]
    assert Event.select().count() == 0


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"name": "order_shipped"}, ["501", "502"]),
        ({"language": "de"}, ["501"]),
        ({"status": "APPROVED", "name": "order_shipped"}, ["502"]),
        ({"category": "MARKETING"}, ["503"]),
        ({"name": "order"}, []),
    ],
)
def test_a_list_can_be_filtered(
    number: Number, network: Network, wanted: dict[str, Any], found: list[str]
) -> None:
    assert network.asked == []
    assert _ids(_list(number, **wanted)) == found


def test_a_list_that_is_an_hour_old_is_read_again(
    clock: Clock, number: Number, network: Network
) -> None:
    _list(number)
    clock.advance(minutes=50)
    _list(number)
    assert len(network.asked) == 1
    clock.advance(minutes=20)
    network.templates = network.templates[:1]
    assert _ids(_list(number)) == ["502"]
    assert len(network.asked) == 2
    assert sorted(_told()) == [("hello", "DELETED"), ("order_shipped", "DELETED")]


def test_a_response_older_than_a_callback_is_discarded(number: Number, network: Network) -> None:
    def tell() -> None:
        network.meanwhile = lambda: None
        network.templates = network.templates[1:]
        with writing():
            TemplateList.touch(number.account_id, number.waba_id)

    network.meanwhile = tell
    assert _ids(_list(number)) == ["503", "501"]
    assert len(network.asked) == 2


@pytest.mark.usefixtures("network")
def test_the_numbers_of_a_business_account_share_its_templates(
    account: Account, number: Number
) -> None:
    sibling = factories.active_number(account, "1002", phone_number="15550002222")
    foreign = factories.active_number(account, "1003", "2002", phone_number="15550003333")
    _list(number)
    page = _list(sibling)
    assert _ids(page) == ["503", "501", "502"]
    assert page["data"][0]["numberIds"] == [number.id, sibling.id]
    assert Template.search(foreign, 20, 0).total == 0


def test_an_account_does_not_see_the_templates_of_another(number: Number, network: Network) -> None:
    _list(number)
    stranger = Account.open("Stranger", "pro")
    theirs = factories.active_number(stranger, "1009", phone_number="15550009999")
    assert theirs.waba_id == number.waba_id
    assert Template.search(theirs, 20, 0).total == 0
    with pytest.raises(ForbiddenError):
        asyncio.run(handlers.list_templates(stranger.id, number.id, 20, 0))
    with pytest.raises(ForbiddenError):
        asyncio.run(handlers.create_template(stranger.id, number.id, NEW))
    with pytest.raises(ForbiddenError):
        asyncio.run(handlers.delete_template(stranger.id, number.id, "hello"))
    with pytest.raises(ForbiddenError):
        asyncio.run(
            handlers.update_template(stranger.id, number.id, "502", {"category": "UTILITY"})
        )
    with pytest.raises(ForbiddenError):
        asyncio.run(handlers.refresh_templates(stranger.id, number.id))
    assert network.asked == [("list", "2001")]


def test_an_inactive_number_has_no_templates(number: Number, network: Network) -> None:
    with writing():
        number.move_to(NumberStatus.DISCONNECTED)
    for refused in (_list, _create):
        with pytest.raises(ConflictError, match="is DISCONNECTED"):
            refused(number)
    assert network.asked == []


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (exceptions.ThrottledError("80007", "Too many calls"), 429),
        (exceptions.AmbiguousError("timeout", "No answer"), 500),
        (exceptions.NotReachedError("unreachable", "Away"), 500),
        (exceptions.NumberLostError("190", "Expired"), 409),
        (exceptions.RefusedError("100", "Invalid parameter"), 400),
    ],
)
def test_an_error_of_the_network_is_answered_as_everywhere(
    number: Number, network: Network, failure: exceptions.NetworkError, status: int
) -> None:
    network.failure = failure
    with pytest.raises(DomainError) as caught:
        _list(number)
    assert STATUS[caught.value.code] == status
    lost = isinstance(failure, exceptions.NumberLostError)
    assert (Number.get_by_id(number.id).status == NumberStatus.DISCONNECTED) == lost


def test_a_created_template_is_pending_and_emits_an_event(
    account: Account, number: Number, network: Network
) -> None:
    factories.webhook(account, number_ids=[number.id])
    made, status = _create(number, parameterFormat="POSITIONAL")
    assert (status, made["id"], made["status"]) == (201, "601", "PENDING")
    assert network.asked[-1] == ("create", "2001", NEW | {"parameter_format": "POSITIONAL"})
    assert _told() == [("sale", "PENDING")]
    assert Delivery.select().count() == 1
    assert "601" in _ids(_list(number))
    assert _told() == [("sale", "PENDING")]


def test_options_of_a_template_are_passed_on(number: Number, network: Network) -> None:
    options = {"allow_category_change": True, "message_send_ttl_seconds": 60}
    made, _ = _create(number, allowCategoryChange=True, messageSendTtl=60)
    assert network.asked[-1] == ("create", "2001", NEW | options)
    assert made["messageSendTtl"] == 60
    assert _edit(number, messageSendTtl=90)["messageSendTtl"] == 90
    assert network.asked[-1] == ("update", "502", {"message_send_ttl_seconds": 90})


def test_an_edited_template_is_reviewed_again_and_read_soon(
    clock: Clock, number: Number, network: Network
) -> None:
    _list(number)
    edited = _edit(number, components=[OTHER], category="MARKETING")
    assert network.asked[-1] == ("update", "502", {"category": "MARKETING", "components": [OTHER]})
    assert (edited["id"], edited["status"], edited["category"]) == ("502", "PENDING", "MARKETING")
    assert (edited["components"], edited["numberIds"]) == ([OTHER], [number.id])
    assert _told() == [("order_shipped", "PENDING")]
    assert TemplateList.get().due_at == clock()
    [row] = Audit.all(number.account_id)
    assert (row.action, row.subject) == ("template.changed", "502")


def test_other_options_need_no_review(number: Number, network: Network) -> None:
    assert _edit(number, messageSendTtl=60)["status"] == "APPROVED"
    assert _told() == []
    assert len(network.asked) == 2


def test_a_refused_edit_changes_nothing(number: Number, network: Network) -> None:
    _list(number)
    network.failure = exceptions.RefusedError("100", "Invalid parameter")
    with pytest.raises(InvalidError):
        _edit(number, components=[OTHER])
    assert _told() == []
    assert [row.components for row in Template.rows_of(number, network_id="502")] == [[BODY]]
    assert Audit.all(number.account_id) == []


def test_an_unknown_template_is_not_edited(number: Number, network: Network) -> None:
    with pytest.raises(NotFoundError):
        _edit(number, "601", category="UTILITY")
    assert [what for what, *_ in network.asked] == ["list"]


def test_a_refresh_reads_the_list_again(clock: Clock, number: Number, network: Network) -> None:
    assert _refresh(number) == 204
    network.templates = network.templates[:1]
    with pytest.raises(RateLimitedError) as caught:
        _refresh(number)
    assert caught.value.retry_after == 5
    clock.advance(seconds=5)
    assert _refresh(number) == 204
    assert network.asked == [("list", "2001")] * 2
    assert _ids(_list(number)) == ["502"]
    assert TemplateList.get().read_at == clock()


def test_a_refresh_does_not_count_on_a_read_that_the_worker_has_begun(
    clock: Clock, number: Number, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    _list(number)
    clock.advance(seconds=5)
    request = template_copy.request_read

    def request_and_claim(number: Number) -> None:
        request(number)
        assert list(TemplateList.claim_each(template_copy.LEASE_MS))

    monkeypatch.setattr(template_copy, "request_read", request_and_claim)
    network.templates = network.templates[:1]
    assert _refresh(number) == 204
    assert _ids(_list(number)) == ["502"]


@pytest.mark.parametrize("is_read", [True, False])
def test_a_refresh_whose_reads_are_overtaken_counts_only_if_another_read_was_complete(
    clock: Clock,
    number: Number,
    network: Network,
    is_read: bool,  # noqa: FBT001 - a column of the table
) -> None:
    _list(number)
    clock.advance(seconds=5)

    def overtake() -> None:
        if is_read:
            clock.advance(milliseconds=1)
            assert template_copy.update_list(template_copy.begin(number), network.templates)
        else:
            template_copy.request_read(number)

    network.meanwhile = overtake
    if is_read:
        assert _refresh(number) == 204
    else:
        with pytest.raises(RateLimitedError) as caught:
            _refresh(number)
        assert caught.value.retry_after == 5
    assert len(network.asked) - 1 == (1 if is_read else 3)


def test_a_refresh_of_a_long_list_rests_a_second_for_each_further_page(
    clock: Clock, number: Number, network: Network
) -> None:
    names = [f"order_{position}" for position in range(201)]
    network.templates = [definition(name, template_id=name) for name in names]
    _list(number)
    with pytest.raises(RateLimitedError) as caught:
        _refresh(number)
    assert caught.value.retry_after == 7
    assert len(network.asked) == 1
    clock.advance(seconds=7)
    network.templates.pop()
    assert _refresh(number) == 204
    with pytest.raises(RateLimitedError) as caught:
        _refresh(number)
    assert caught.value.retry_after == 6


def test_a_template_that_is_there_is_not_created_again(number: Number, network: Network) -> None:
    with pytest.raises(ConflictError, match=r"\border_shipped\b.*\bde\b.*\bPAUSED\b") as caught:
        _create(number, name="order_shipped")
    assert caught.value.details == {"field": "/name"}
    assert [what for what, *_ in network.asked] == ["list", "find"]


def test_a_created_template_that_a_list_brought_first_is_there_once(
    number: Number, network: Network
) -> None:
    _list(number)

    def read_all() -> None:
        network.meanwhile = lambda: None
        seen = template_copy.begin(number)
        both = [
            *network.templates,
            TemplateDefinition("601", "sale", "de", "PENDING", "MARKETING", [BODY]),
        ]
        assert template_copy.update_list(seen, both)

    network.meanwhile = read_all
    made, _ = _create(number)
    assert made["id"] == "601"
    assert Template.select().where(Template.network_id == "601").count() == 1
    assert _told() == [("sale", "PENDING")]


def test_a_refused_template_changes_nothing(number: Number, network: Network) -> None:
    _list(number)
    network.failure = exceptions.RefusedError("100", "Invalid parameter")
    with pytest.raises(InvalidError, match="100 Invalid parameter") as caught:
        _create(number)
    assert caught.value.details == {"networkCode": 100}
    assert Template.select().count() == 3
    assert _told() == []


def test_a_template_is_deleted_in_all_languages_or_one(number: Number, network: Network) -> None:
    assert _delete(number, "order_shipped", "501") == 204
    assert network.asked[-1] == ("delete", "2001", "order_shipped", "501")
    assert {row.network_id for row in Template.select()} == {"502", "503"}
    assert _delete(number, "hello") == 204
    assert network.asked[-1] == ("delete", "2001", "hello", None)
    assert _told() == [("order_shipped", "DELETED"), ("hello", "DELETED")]


@pytest.mark.parametrize(("name", "template_id"), [("unknown", None), ("hello", "501")])
def test_deleting_a_missing_template_is_not_found(
    number: Number, network: Network, name: str, template_id: str | None
) -> None:
    with pytest.raises(NotFoundError):
        _delete(number, name, template_id)
    assert [what for what, *_ in network.asked] == ["list", "find"]


def test_a_template_that_is_gone_at_the_network_can_be_created_again(
    number: Number, network: Network
) -> None:
    _list(number)
    network.templates = network.templates[2:]
    made, status = _create(number, name="order_shipped")
    assert (status, made["id"]) == (201, "601")
    assert [what for what, *_ in network.asked] == ["list", "find", "create"]


def test_a_template_that_is_new_at_the_network_can_be_deleted_and_edited(
    clock: Clock, number: Number, network: Network
) -> None:
    _list(number)
    network.templates += [definition("late", template_id=each) for each in ("504", "505")]
    assert _delete(number, "late", "504") == 204
    clock.advance(seconds=5)
    network.templates.append(definition("later", template_id="506"))
    assert _edit(number, "506", category="MARKETING")["name"] == "later"


def test_the_network_decides_on_what_the_copy_refuses_if_it_cannot_be_read(
    number: Number, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template_reads, "MOST_READS", 1)
    with pytest.raises(NotFoundError):
        _delete(number, "unknown")
    network.failure = exceptions.TemplateExistsError("100", "Invalid parameter")
    with pytest.raises(ConflictError):
        _create(number, name="order_shipped")
    network.failure = exceptions.TemplateGoneError("100", "Invalid parameter")
    with pytest.raises(NotFoundError):
        _delete(number, "unknown")
    calls = [what for what, *_ in network.asked if what != "list"]
    assert calls == ["find", "create", "delete"]


def test_unknown_templates_cause_no_more_reads_than_refreshes(
    clock: Clock, number: Number, network: Network
) -> None:
    for _ in range(3):
        clock.advance(seconds=3)
        with pytest.raises(NotFoundError):
            _edit(number, "601", category="UTILITY")
    assert network.asked == [("list", "2001")] * 2
