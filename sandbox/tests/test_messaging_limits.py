"""The messaging limit: people whom a number reaches first within 24 hours."""

from typing import Any

import pytest

from sandbox.messaging_limits import people_of
from sandbox_harness import Business, Receiver, Sandbox
from test_callbacks import write
from test_clock import HOUR, advance
from test_events import heard
from test_limits import TEMPLATE, behave, code_of, set_limits
from test_quality import QUALITY, node

PEOPLE = [f"1650555{number}" for number in range(1000, 1010)]


def limit(business: Business, tier: str) -> Any:
    return set_limits(business, messaging_limit=tier)


def codes(business: Business, *people: str) -> list[int | None]:
    """The error codes of templates to these people."""
    return [code_of(business.post(to=person, **TEMPLATE)) for person in people]


@pytest.fixture
def limited(business: Business) -> Business:
    """A business that can reach two people."""
    limit(business, "TIER_2")
    behave(business.sandbox, messaging_limit=True)
    return business


def test_without_the_knob_there_is_no_limit(business: Business) -> None:
    limit(business, "TIER_2")
    assert codes(business, *PEOPLE[:3]) == [None] * 3


def test_a_number_reaches_so_many_people(limited: Business) -> None:
    assert codes(limited, *PEOPLE[:3]) == [None, None, 131064]
    response = limited.post(to=PEOPLE[3])
    assert response.status_code == 400
    assert len(limited.sandbox.accepted()) == 2
    # Another number has an audience of its own.
    assert codes(limited.sandbox.connect(), PEOPLE[2]) == [None]


def test_a_person_counts_once(limited: Business) -> None:
    assert codes(limited, PEOPLE[0], PEOPLE[0], PEOPLE[1], PEOPLE[0]) == [None] * 4
    assert codes(limited, PEOPLE[2]) == [131064]


def test_people_with_an_open_window_do_not_count(limited: Business) -> None:
    write(limited, text="Hi", **{"from": PEOPLE[0]})
    assert codes(limited, PEOPLE[0], *PEOPLE[1:4]) == [None, None, None, 131064]
    write(limited, text="Hi", **{"from": PEOPLE[3]})
    assert codes(limited, PEOPLE[3], PEOPLE[4]) == [None, 131064]


def test_people_count_for_24_hours_after_their_last_message(limited: Business) -> None:
    assert codes(limited, *PEOPLE[:2]) == [None, None]
    advance(limited.sandbox, 20 * HOUR)
    assert codes(limited, PEOPLE[0]) == [None]
    advance(limited.sandbox, 4 * HOUR)
    assert codes(limited, *PEOPLE[2:4]) == [None, 131064]
    advance(limited.sandbox, 20 * HOUR)
    assert codes(limited, *PEOPLE[3:5]) == [None, 131064]


def test_the_period_can_be_shorter(limited: Business) -> None:
    behave(limited.sandbox, messaging_limit_seconds=60)
    assert codes(limited, *PEOPLE[:3]) == [None, None, 131064]
    advance(limited.sandbox, 61)
    assert codes(limited, *PEOPLE[2:5]) == [None, None, 131064]


def test_a_message_that_fails_at_once_counts_nobody(limited: Business) -> None:
    assert codes(limited, "15550100002", *PEOPLE[:3]) == [None, None, None, 131064]


def test_the_closed_window_is_the_reason_of_a_text(limited: Business) -> None:
    behave(limited.sandbox, service_window=True)
    codes(limited, *PEOPLE[:2])
    assert code_of(limited.post(to=PEOPLE[2])) == 131047
    behave(limited.sandbox, service_window_refusal="status")
    assert limited.post(to=PEOPLE[2]).ok


def test_a_limit_counts_no_earlier_messages(business: Business) -> None:
    codes(business, *PEOPLE[:5])
    limit(business, "TIER_2")
    behave(business.sandbox, messaging_limit=True)
    assert codes(business, *PEOPLE[5:8]) == [None, None, 131064]


@pytest.mark.parametrize("extra", [{}, {"SANDBOX_COMPACT_BYTES": "1"}])
def test_counted_people_survive_a_kill(limited: Business, extra: dict[str, str]) -> None:
    sandbox = limited.sandbox
    write(limited, text="Hi", **{"from": PEOPLE[0]})
    assert codes(limited, *PEOPLE[:2]) == [None, None]
    # They make the journal large enough to be compacted.
    for _ in range(60):
        behave(sandbox, messaging_limit=True)
    sandbox.extra |= extra
    for _ in range(2):
        sandbox.kill()
        sandbox.start()
    assert codes(limited, *PEOPLE[1:4]) == [None, None, 131064]


def test_a_new_limit_is_announced(business: Business, receiver: Receiver) -> None:
    assert limit(business, "TIER_10K")["messaging_limit"] == "TIER_10K"
    limit(business, "TIER_10K")
    limit(business, "TIER_250")
    values = [change["value"] for _, change in heard(receiver, 2)]
    assert {change["field"] for _, change in heard(receiver, 2)} == {QUALITY}
    told = {(v["event"], v["old_limit"], v["current_limit"]) for v in values}
    assert told == {("UPGRADE", "TIER_2K", "TIER_10K"), ("DOWNGRADE", "TIER_10K", "TIER_250")}
    assert node(business)["whatsapp_business_manager_messaging_limit"] == "TIER_250"
    fields = business.graph("GET", f"{business.number_id}?fields=messaging_limit_tier").json()
    assert fields["messaging_limit_tier"] == "TIER_250"


@pytest.mark.parametrize(
    ("tier", "people"),
    [("TIER_250", 250), ("TIER_2K", 2000), ("TIER_100K", 100_000)],
)
def test_a_tier_names_its_number_of_people(tier: str, people: int) -> None:
    assert people_of(tier) == people


def test_an_unlimited_number_reaches_everybody(limited: Business) -> None:
    codes(limited, *PEOPLE[:2])
    limit(limited, "TIER_UNLIMITED")
    assert codes(limited, *PEOPLE[2:6]) == [None] * 4


@pytest.mark.parametrize(
    "body",
    [
        {"messaging_limit": "TIER_0"},
        {"messaging_limit": "2K"},
        {"messaging_limit": 250},
        {"messaging_limit": None},
        {"limit": "TIER_2K"},
        [],
    ],
)
def test_invalid_limits_change_nothing(shared: Business, body: object) -> None:
    path = f"/_sandbox/numbers/{shared.number_id}/limits"
    assert shared.sandbox.call("POST", path, json=body).status_code == 400
    assert node(shared)["whatsapp_business_manager_messaging_limit"] == "TIER_2K"


def test_an_unknown_number_has_no_limits(sandbox: Sandbox) -> None:
    assert sandbox.call("POST", "/_sandbox/numbers/1/limits", json={}).status_code == 404
