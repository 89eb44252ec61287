"""Problems of the callbacks about a number: a check finds each, and the end of each."""

import json
from dataclasses import replace
from typing import Any

import pytest

from models import clock as service_clock
from models.database import writing
from models.deliveries.event import Event
from models.messages import silence
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number, NumberStatus
from networks.exceptions import ThrottledError
from networks.interface import Route, Sender
from services import callback_routes, number_checks, number_status
from tests import factories
from tests.asked_platform import AskedPlatform
from tests.conftest import Clock
from tests.tasks.callbacks import accepted_message, ingest_now, messages, status_of, text

OURS = Route(is_subscribed=True, elsewhere=None, missing=())
HOUR = 3_600_000


class Platform(AskedPlatform):
    """Returns the route of callbacks, too."""

    def __init__(self) -> None:
        super().__init__()
        self.route = OURS
        self.route_error: ThrottledError | None = None

    async def get_route(self, _sender: Sender, _waba_id: str, callback_url: str) -> Route:
        assert callback_url.endswith("/network/callback")
        if self.route_error:
            raise self.route_error
        return self.route

    async def restore_route(self, _sender: Sender, _waba_id: str, _callback_url: str) -> None:
        self.route = OURS


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    platform = Platform()
    for module in (number_checks, callback_routes):
        monkeypatch.setattr(module, "network_of", lambda _: platform)
    return platform


def _check(number: Number) -> list[tuple[str, str | None]]:
    """The problems after a check."""
    number.amend(due_at=0)
    number_checks.check_due()
    fresh = Number.get_by_id(number.id)
    return [(problem["code"], problem["detail"]) for problem in fresh.problems]


def _told() -> list[list[str]]:
    """The codes of the problems in each number.updated."""
    updated = [event for event in Event.select().order_by(Event.id) if "updated" in event.kind]
    numbers = [json.loads(event.payload)["data"] for event in updated]
    return [[problem["code"] for problem in number["problems"]] for number in numbers]


@pytest.mark.parametrize(
    ("route", "problem"),
    [
        (replace(OURS, is_subscribed=False), ("not_subscribed", None)),
        (
            replace(OURS, elsewhere="https://other.example/callback?key=secret"),
            ("callbacks_elsewhere", "other.example"),
        ),
        (
            replace(OURS, elsewhere="https://user:secret@other.example:8443/callback"),
            ("callbacks_elsewhere", "other.example:8443"),
        ),
        *(
            (replace(OURS, elsewhere=odd), ("callbacks_elsewhere", "another address"))
            for odd in ("secret", "https://[secret")
        ),
        (replace(OURS, missing=("a", "b")), ("fields_missing", "a, b")),
    ],
)
def test_a_check_finds_what_is_wrong_with_the_callbacks_and_when_it_is_mended(
    number: Number, platform: Platform, route: Route, problem: tuple[str, str | None]
) -> None:
    platform.route = route
    assert _check(number) == _check(number) == [problem]
    assert "secret" not in Number.get_by_id(number.id).problems_json
    callback_routes.restore(number)
    assert _check(number) == []
    assert _told()[-2:] == [[problem[0]], []]


def test_problems_stay_known_while_the_platform_does_not_say_where_callbacks_go(
    number: Number, platform: Platform, clock: Clock
) -> None:
    platform.route = replace(OURS, is_subscribed=False)
    assert _check(number)
    platform.route_error = ThrottledError("80007", "Too many calls.")
    accepted_message(number)
    clock.advance(hours=2)
    assert [code for code, _ in _check(number)] == ["not_subscribed", "no_callbacks"]
    ingest_now(messages(messages=[text()]))
    assert _check(number) == [("not_subscribed", None)]


def test_problems_are_looked_for_at_once_after_a_command(
    number: Number, platform: Platform
) -> None:
    platform.route = replace(OURS, is_subscribed=False)
    number_checks.check_callbacks(number)
    [problem] = Number.get_by_id(number.id).problems
    assert (problem["code"], platform.asked) == ("not_subscribed", [])
    assert _told() == [["not_subscribed"]]


def test_a_number_that_is_not_connected_has_no_problems_of_callbacks(
    number: Number, platform: Platform
) -> None:
    platform.route = replace(OURS, is_subscribed=False)
    _check(number)
    platform.status = "DISCONNECTED"
    _check(number)
    shown = json.loads(Event.select().order_by(Event.id.desc()).first().payload)["data"]
    assert (shown["status"], shown["problems"]) == ("DISCONNECTED", [])


@pytest.mark.usefixtures("platform")
@pytest.mark.parametrize("waits", [0.9, 1.1, 25])
def test_a_message_without_any_callback_for_an_hour_is_suspicious_for_a_day(
    number: Number, clock: Clock, waits: float
) -> None:
    at = accepted_message(number).changed_at
    clock.advance(hours=waits)
    assert at is not None
    silent = [("no_callbacks", service_clock.timestamp(at))]
    assert _check(number) == (silent if 1 < waits < 24 else [])


@pytest.mark.usefixtures("platform")
def test_a_number_that_sends_much_within_an_hour_is_found_silent_too_since_the_first_check(
    number: Number, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silence, "MOST_LOOKED", 2)
    found = []
    for _ in range(5):
        for _ in range(3):
            accepted_message(number, f"wamid.{clock.at}")
            clock.advance(minutes=10)
        found.append(_check(number))
    [(code, since)] = found[2]
    assert (found[0], code) == ([], "no_callbacks")
    assert found[-1] == [(code, since)]
    ingest_now(messages(messages=[text()]))
    assert _check(number) == []


@pytest.mark.usefixtures("platform")
@pytest.mark.parametrize(
    ("status", "more"),
    [
        *((status, {}) for status in ("delivered", "read", "failed", "sent")),
        # Without a time of the network, as messages of before this column are stored.
        *((status, {"timestamp": None}) for status in ("delivered", "read", "failed")),
        ("sent", {"timestamp": None, "pricing": {"billable": True}}),
    ],
)
def test_a_status_ends_the_suspicion_about_its_message(
    number: Number, clock: Clock, status: str, more: dict[str, Any]
) -> None:
    accepted_message(number)
    clock.advance(hours=2)
    assert _check(number)
    ingest_now(messages(statuses=[status_of("wamid.1", status) | more]))
    assert _check(number) == []


@pytest.mark.usefixtures("platform")
@pytest.mark.parametrize(
    ("status", "timed"), [("sent", True), ("delivered", False), ("failed", False)]
)
def test_a_status_ends_the_suspicion_about_the_messages_before_it(
    number: Number, clock: Clock, status: str, *, timed: bool
) -> None:
    accepted_message(number)
    clock.advance(minutes=1)
    accepted_message(number, "wamid.2")
    clock.advance(hours=2)
    time = str(clock.at // 1000) if timed else None
    ingest_now(messages(statuses=[status_of("wamid.1", status, timestamp=time)]))
    assert _check(number) == []


@pytest.mark.usefixtures("platform")
def test_an_inbound_message_ends_the_suspicion_about_the_ones_before_it(
    number: Number, clock: Clock
) -> None:
    accepted_message(number)
    clock.advance(hours=2)
    ingest_now(messages(messages=[text()]))
    assert _check(number) == []
    clock.advance(minutes=1)
    accepted_message(number, "wamid.2")
    clock.advance(hours=2)
    assert [code for code, _ in _check(number)] == ["no_callbacks"]


@pytest.mark.usefixtures("platform")
def test_a_message_that_the_platform_refused_proves_no_callback(
    number: Number, clock: Clock
) -> None:
    def refuse() -> None:
        refused: Message = factories.outbound(number)
        with writing():
            refused.advance(MessageStatus.FAILED, at=clock.at, error=("131026", "No."))

    refuse()
    clock.advance(hours=2)
    assert _check(number) == [], "the network never said that a callback would come"
    accepted_message(number)
    clock.advance(hours=2)
    refuse()
    assert [code for code, _ in _check(number)] == ["no_callbacks"]


def test_problems_are_counted_by_code_for_active_numbers(
    number: Number, platform: Platform
) -> None:
    platform.route = replace(OURS, is_subscribed=False, missing=("a",))
    _check(number)
    counts = Number.problem_counts()
    assert (counts["not_subscribed"], counts["fields_missing"]) == (1, 1)
    assert counts["no_callbacks"] == 0
    number_status.change_status(number, NumberStatus.DISCONNECTED)
    assert Number.problem_counts()["not_subscribed"] == 0


@pytest.mark.usefixtures("platform")
@pytest.mark.parametrize("has_time", [True, False])
def test_a_message_of_the_owners_app_waits_for_no_callback_and_is_one(
    number: Number,
    clock: Clock,
    has_time: bool,  # noqa: FBT001 - a column of the table
) -> None:
    accepted_message(number)
    clock.advance(hours=2)
    time = str(clock.at // 1000) if has_time else None
    echo = text("wamid.E", timestamp=time) | {"from": number.phone_number}
    value: dict[str, Any] = {"metadata": {"phone_number_id": "1001"}}
    value["message_echoes"] = [echo | {"to": "15551234567"}]
    ingest_now({"id": "2001", "changes": [{"field": "smb_message_echoes", "value": value}]})
    assert _check(number) == []
    clock.advance(hours=2)
    assert _check(number) == []
