"""Templates are updated by callbacks and by the worker, with one event for each change."""

import json
from collections.abc import Coroutine
from typing import Any

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.messages.template import Template, TemplateList
from models.numbers.notice import Notice
from models.numbers.number import Number, NumberStatus
from networks import exceptions
from networks.interface import Sender, TemplateDefinition
from services import template_copy
from tests import factories
from tests.conftest import Clock
from tests.fake_templates import BODY, Network, definition, known
from tests.tasks.callbacks import ingest_now

AT = 1_795_167_000
ABOUT = {
    "message_template_id": 501,
    "message_template_name": "order_shipped",
    "message_template_language": "en_US",
}

# The callbacks have fixed times.
pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """The network that the worker calls."""
    network = Network(definition())
    monkeypatch.setattr(template_copy, "network_of", lambda _: network)
    return network


def _tell(field: str, *, at: int = AT, waba_id: str = "2001", **value: Any) -> None:
    change = {"field": field, "value": ABOUT | value}
    ingest_now({"id": waba_id, "time": at, "changes": [change]})


def _status(event: str, *, at: int = AT, **value: Any) -> None:
    _tell("message_template_status_update", at=at, event=event, **value)


def _told() -> list[dict[str, Any]]:
    found = Event.select().where(Event.kind == "template.updated").order_by(Event.id)
    return [json.loads(event.payload) for event in found]


def _statuses() -> list[str]:
    return [event["data"]["status"] for event in _told()]


def _row() -> Template:
    [row] = Template.select()
    return row


def _list() -> TemplateList:
    [found] = TemplateList.select()
    return found


def test_a_status_is_taken_over_and_told_once(account: Account, number: Number) -> None:
    factories.webhook(account)
    known(number, definition(status="PENDING"))
    for _ in range(3):
        _status("APPROVED", reason=None)
    [event] = _told()
    assert event["timestamp"] == "2026-11-20T09:30:00.000Z"
    assert event["data"]["id"] == "501"
    assert (event["data"]["status"], event["data"]["rejectedReason"]) == ("APPROVED", None)
    assert event["data"]["numberIds"] == [number.id]
    assert Delivery.select().count() == 1
    assert _row().status == "APPROVED"
    # The operator reads it as before.
    assert Notice.select().count() == 1


def test_a_rejection_has_its_reason_until_the_template_is_approved(number: Number) -> None:
    known(number, definition(status="PENDING"))
    _status("REJECTED", reason="PROMOTIONAL")
    assert _told()[0]["data"]["rejectedReason"] == "PROMOTIONAL"
    _status("APPROVED", at=AT + 1, reason="NONE")
    assert _told()[1]["data"]["rejectedReason"] is None


def test_a_repeated_callback_requests_no_read(number: Number, network: Network) -> None:
    known(number, definition(status="PENDING"))
    _status("APPROVED")
    template_copy.read_due()
    assert network.asked == [("list", "2001")]
    _status("APPROVED")
    template_copy.read_due()
    assert len(network.asked) == 1


def test_changes_of_one_moment_have_times_of_their_own(clock: Clock, number: Number) -> None:
    known(number, definition())
    for event in ("PAUSED", "APPROVED", "DELETED"):
        _status(event)
    times = [event["data"]["updatedAt"] for event in _told()]
    assert (len(times), len(set(times)), _statuses()[-1]) == (3, 3, "DELETED")
    assert clock.at == 1_795_167_000_000


def test_a_late_or_repeated_callback_does_not_restore_an_old_status(number: Number) -> None:
    known(number, definition(status="PENDING"))
    _status("APPROVED", at=AT)
    _status("PAUSED", at=AT + 60)
    _status("APPROVED", at=AT)
    _status("APPROVED", at=AT + 1)
    assert _row().status == "PAUSED"
    assert _statuses() == ["APPROVED", "PAUSED"]


@pytest.mark.parametrize("event", ["REJECTED", "PAUSED", "DELETED"])
@pytest.mark.parametrize("at", [AT - 6 * 86_400, AT - 1, 0])
def test_a_callback_from_before_the_last_read_or_without_a_time_only_requests_the_list(
    number: Number, network: Network, event: str, at: int
) -> None:
    known(number, definition())
    _status(event, at=at)
    assert template_copy.is_due(_list())
    template_copy.read_due()
    assert (_statuses(), _row().status) == ([], "APPROVED")
    assert network.asked == [("list", "2001")]


@pytest.mark.parametrize("word", ["REINSTATED", "UNPAUSED"])
def test_the_end_of_a_pause_is_an_approval(number: Number, word: str) -> None:
    known(number, definition(status="PAUSED"))
    _status(word)
    assert _statuses() == ["APPROVED"]


def test_an_unknown_status_is_stored_and_shown_as_unknown(number: Number) -> None:
    known(number, definition())
    _status("INVENTED")
    assert (_row().status, _statuses()) == ("INVENTED", ["UNKNOWN"])


def test_quality_and_category_are_taken_over(number: Number) -> None:
    known(number, definition())
    _tell(
        "message_template_quality_update", previous_quality_score="UNKNOWN", new_quality_score="RED"
    )
    _tell("template_category_update", previous_category="UTILITY", new_category="MARKETING")
    told = [(each["data"]["qualityScore"], each["data"]["category"]) for each in _told()]
    assert told == [("RED", "UTILITY"), ("RED", "MARKETING")]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("message_template_status_update", {}),
        ("message_template_status_update", {"event": None}),
        ("message_template_status_update", {"event": ["APPROVED"]}),
        ("message_template_quality_update", {"new_quality_score": 7}),
        ("template_category_update", {"correct_category": "MARKETING"}),
        ("message_template_status_update", {"event": "PAUSED", "message_template_id": 999}),
        ("message_template_status_update", {"event": "PAUSED", "message_template_id": None}),
    ],
)
def test_a_callback_without_a_known_change_only_requests_the_list(
    number: Number, field: str, value: dict[str, Any]
) -> None:
    known(number, definition())
    assert not template_copy.is_due(_list())
    _tell(field, **value)
    assert template_copy.is_due(_list())
    assert (_told(), _row().status) == ([], "APPROVED")


def test_changed_components_are_read_from_the_network_and_told_once(
    number: Number, network: Network
) -> None:
    known(number, definition())
    network.templates = [definition("order_shipped", "en_US", {"type": "BODY", "text": "New"})]
    _tell("message_template_components_update", message_template_element="New")
    template_copy.read_due()
    template_copy.read_due()
    [event] = _told()
    assert event["data"]["components"] == [{"type": "BODY", "text": "New"}]
    assert network.asked == [("list", "2001")]


@pytest.mark.parametrize(
    "components",
    [
        [{name: BODY[name] for name in reversed(BODY)}],
        [BODY | {"example": {"body_text": [["Ana", "4711"]]}}],
    ],
)
def test_another_order_of_keys_and_another_example_are_no_change(
    number: Number, components: list[dict[str, Any]]
) -> None:
    known(number, definition())
    known(number, definition("order_shipped", "en_US", *components, parameter_format="POSITIONAL"))
    assert _told() == []
    assert (_row().components, _row().parameter_format) == (components, "POSITIONAL")


def test_a_deleted_template_emits_a_last_event_and_is_removed(
    number: Number, network: Network
) -> None:
    known(number, definition())
    network.templates = []
    _status("DELETED")
    assert (_statuses(), Template.select().count()) == (["DELETED"], 0)
    template_copy.read_due()
    assert _statuses() == ["DELETED"]


@pytest.mark.usefixtures("network")
def test_a_template_that_appears_in_whatsapp_manager_is_told(number: Number) -> None:
    known(number)
    _status("APPROVED")
    template_copy.read_due()
    assert _statuses() == ["APPROVED"]


def test_each_account_with_the_business_account_is_told(account: Account, number: Number) -> None:
    other = factories.active_number(Account.open("Other", "pro"), "1002")
    apart = factories.active_number(Account.open("Apart", "pro"), "1003", "2002")
    for each in (number, other, apart):
        known(each, definition())
    _status("PAUSED")
    assert {event.account_id for event in Event.select()} == {account.id, other.account_id}
    assert Template.find(apart, "order_shipped", "en_US") is not None
    assert sorted(row.status for row in Template.select()) == ["APPROVED", "PAUSED", "PAUSED"]


def test_an_event_goes_to_the_webhooks_of_any_number_of_the_business_account(
    account: Account, number: Number
) -> None:
    sibling = factories.active_number(account, "1002", phone_number="15550002222")
    apart = factories.active_number(account, "1003", "2002", phone_number="15550003333")
    wanting = [
        factories.webhook(account),
        factories.webhook(account, number_ids=[sibling.id]),
        factories.webhook(account, number_ids=[apart.id, number.id]),
    ]
    factories.webhook(account, number_ids=[apart.id])
    factories.webhook(account, events=["message.sent"])
    known(number, definition())
    _status("PAUSED")
    assert {row.webhook_id for row in Delivery.select()} == {each.id for each in wanting}
    assert len(_told()) == 1


def test_an_account_without_an_active_number_there_is_told_nothing(number: Number) -> None:
    known(number, definition())
    with writing():
        number.move_to(NumberStatus.DISCONNECTED)
    _status("PAUSED")
    assert _told() == []


def test_the_worker_reads_a_requested_list_and_then_every_hour(
    clock: Clock, number: Number, network: Network
) -> None:
    template_copy.read_due()
    assert network.asked == []
    template_copy.begin(number)
    template_copy.read_due()
    template_copy.read_due()
    assert network.asked == [("list", "2001")]
    assert (_row().name, _told()) == ("order_shipped", [])
    clock.advance(minutes=70)
    template_copy.read_due()
    assert len(network.asked) == 2


@pytest.mark.parametrize(
    "failure",
    [
        exceptions.AmbiguousError("timeout", "No answer"),
        exceptions.ThrottledError("80008", "Too many"),
    ],
)
def test_failed_reads_of_a_list_are_retried_with_back_off(
    clock: Clock, number: Number, network: Network, failure: exceptions.NetworkError
) -> None:
    template_copy.begin(number)
    network.failure = failure
    pauses = []
    for _ in range(3):
        template_copy.read_due()
        pauses.append(_list().due_at - clock.at)
        clock.at = _list().due_at
    assert 50_000 < pauses[0] < 70_000 < pauses[1] < 140_000 < pauses[2]
    network.failure = None
    template_copy.read_due()
    assert _list().read_at == clock.at


def test_a_lost_number_is_disconnected_and_its_templates_forgotten(
    clock: Clock, number: Number, network: Network
) -> None:
    known(number, definition())
    clock.advance(hours=2)
    network.failure = exceptions.NumberLostError("190", "Expired")
    template_copy.read_due()
    assert Number.get_by_id(number.id).status == NumberStatus.DISCONNECTED
    clock.advance(hours=2)
    template_copy.read_due()
    assert (TemplateList.select().count(), Template.select().count()) == (0, 0)
    assert _told() == []


def test_a_worker_that_died_gives_its_list_back(
    clock: Clock, number: Number, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    template_copy.begin(number)

    def die(question: Coroutine[Any, Any, Any]) -> None:
        question.close()
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(template_copy, "wait_for", die)
        with pytest.raises(SystemExit):
            template_copy.read_due()
    network.asked.clear()
    template_copy.read_due()
    assert network.asked == []
    clock.advance(minutes=6)
    template_copy.read_due()
    assert network.asked == [("list", "2001")]


def test_a_list_older_than_a_callback_is_dropped_and_read_again(
    number: Number, network: Network
) -> None:
    known(number, definition(status="PENDING"))
    network.templates = [definition(status="PENDING")]

    def approve() -> None:
        network.meanwhile = lambda: None
        network.templates = [definition(status="APPROVED")]
        _status("APPROVED")

    _status("PENDING")
    network.meanwhile = approve
    template_copy.read_due()
    assert (_row().status, _statuses()) == ("APPROVED", ["APPROVED"])
    assert len(network.asked) == 2


def test_the_first_list_emits_events_of_known_templates_only(
    number: Number, network: Network
) -> None:
    template_copy.add(number, definition(status="PENDING"))
    network.templates = [definition(), definition("other", template_id="502")]
    template_copy.read_due()
    assert _statuses() == ["PENDING", "APPROVED"]
    assert Template.select().count() == 2


@pytest.mark.parametrize(
    ("failure", "reads"),
    [(exceptions.RefusedError("100", "No"), 2), (exceptions.NotReachedError("x", "Away"), 1)],
)
def test_a_list_that_cannot_be_read_stops_the_others_only_if_they_would_time_out_too(
    account: Account,
    number: Number,
    network: Network,
    failure: exceptions.NetworkError,
    reads: int,
) -> None:
    class Failing(Network):
        async def list_templates(self, sender: Sender, waba_id: str) -> list[TemplateDefinition]:
            self.asked.append((sender, waba_id))
            raise failure

    network.__class__ = Failing
    template_copy.begin(number)
    template_copy.begin(
        factories.active_number(account, "1002", "2002", phone_number="15550002222")
    )
    template_copy.read_due()
    assert len(network.asked) == reads


def test_a_clock_that_is_set_back_delays_no_read(
    clock: Clock, number: Number, network: Network
) -> None:
    known(number, definition())
    clock.advance(hours=-3)
    template_copy.read_due()
    assert network.asked == [("list", "2001")]


@pytest.mark.usefixtures("network")
def test_the_list_is_read_again_after_a_template_is_created_or_deleted(number: Number) -> None:
    known(number, definition())
    made = template_copy.add(number, definition("other", template_id="502"))
    assert template_copy.is_due(_list())
    template_copy.read_due()
    assert not template_copy.is_due(_list())
    template_copy.remove(number, [made])
    assert template_copy.is_due(_list())


def test_the_first_templates_of_a_name_emit_no_events_before_the_first_list(number: Number) -> None:
    for is_begun in (False, True):
        if is_begun:
            template_copy.begin(number)
        name = f"name_{is_begun}"
        assert template_copy.update_named(number, name, [], [definition(name, template_id=name)])
    assert (_told(), Template.select().count()) == ([], 2)
