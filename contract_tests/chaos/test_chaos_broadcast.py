"""Random faults during a broadcast: each person gets exactly one message or has a stated reason.

Workers and the web are killed, a worker freezes for longer than its lease, the database is frozen, locked or
silent, and the network answers late, never or wrongly (chaos/broadcast_faults.py).

``CHAOS_RECIPIENTS`` and ``CHAOS_BROADCAST_FAULTS`` set the numbers of recipients and faults (large in ``make
chaos``). ``CHAOS_SEED`` repeats a storm: the same faults in the same order. The exact moments remain random.
"""

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contract_tests.backends import BACKEND, POSTGRESQL, REDIS, SQLITE
from contract_tests.chaos.broadcast_storm import BACK_SECONDS, Outcome, Plan, storm

IS_LARGE = "CHAOS_RECIPIENTS" in os.environ
RECIPIENTS = int(os.environ.get("CHAOS_RECIPIENTS", "1500"))
# A small storm has one fault of each family.
FAULTS = int(os.environ.get("CHAOS_BROADCAST_FAULTS", "30" if IS_LARGE else "7"))
SEED = int(os.environ.get("CHAOS_SEED", secrets.randbits(32)))
# A small broadcast would be over before the last fault.
RATE = None if IS_LARGE else 60
STORMY = (SQLITE, POSTGRESQL, REDIS) if IS_LARGE else (SQLITE,)
CHOSEN = (BACKEND,) if "TEST_BACKEND" in os.environ else STORMY
# The least share of the people who get a message. A fault costs at most the messages on their way.
LEAST_REACHED = 0.7

pytestmark = pytest.mark.timeout(300 + RECIPIENTS // 10 + (BACK_SECONDS + 60) * FAULTS)


@pytest.fixture(scope="module", params=CHOSEN)
def outcome(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    say: Callable[[str], None],
) -> Iterator[Outcome]:
    """The end of a storm."""
    plan = Plan(request.param, RECIPIENTS, FAULTS, SEED, RATE, IS_LARGE)
    folder: Path = tmp_path_factory.mktemp("broadcast")
    sizes = f"{RECIPIENTS} recipients, {FAULTS} faults, CHAOS_SEED={SEED}"
    say(f"\nBroadcast on {plan.backend}: {sizes}")
    with storm(folder, plan, say) as left:
        say(left.report())
        yield left


def test_faults_of_every_family_happened(outcome: Outcome) -> None:
    """Otherwise the tests below prove nothing."""
    assert outcome.struck.total() == FAULTS > 0
    families = {fault.family for fault in outcome.faults}
    struck = {fault.family for fault in outcome.faults if fault.name in outcome.struck}
    assert len(struck) == min(FAULTS, len(families))


def test_nobody_gets_two_messages_and_most_get_one(outcome: Outcome) -> None:
    assert set(outcome.reached.values()) == {1}
    assert len(outcome.reached) > LEAST_REACHED * RECIPIENTS


def test_every_message_that_the_network_accepted_has_its_last_status(outcome: Outcome) -> None:
    """Also if the response was lost, late or wrong."""
    rows = {each["to"]: each for each in outcome.recipients}
    wrong = [
        rows[to] for to in outcome.reached if rows[to]["status"] not in outcome.audience.ends_of(to)
    ]
    assert wrong == []
    known = {each["id"]: each["waMessageId"] for each in outcome.messages}
    sent = {each["to"]: each["id"] for each in outcome.accepted}
    for to, network_id in sent.items():
        # Nothing is known of an unknown one.
        assert known[rows[to]["messageId"]] == network_id or rows[to]["status"] == "unknown"


def test_every_other_recipient_has_a_stated_reason(outcome: Outcome) -> None:
    for each in outcome.recipients:
        if each["to"] not in outcome.reached:
            assert each["status"] in {"unknown", "failed", "skipped"}, each
            assert each["status"] != "failed" or each["error"], each
        reason = "opted_out" if each["to"] in outcome.audience.opted_out else None
        assert each["skipReason"] == reason, each


def test_every_recipient_is_listed_once(outcome: Outcome) -> None:
    assert [each["to"] for each in outcome.recipients] == outcome.audience.people


def test_counts_add_up_and_agree_with_the_lists(outcome: Outcome) -> None:
    _check_counts(outcome.shown, outcome.recipients, outcome.messages)


def test_usage_agrees_with_the_messages(outcome: Outcome) -> None:
    priced = Counter(
        (each["pricing"]["category"], each["pricing"]["billable"])
        for each in outcome.messages
        if each["pricing"]
    )
    shown = outcome.shown["usage"]
    assert {(row["category"], row["billable"]): row["messages"] for row in shown} == priced
    assert set(priced) == {("marketing", True)}
    rows = outcome.broadcast.customer.request("GET", "/usage?limit=100").json()["data"]
    used = Counter[tuple[str, bool]]()
    for row in rows:
        used[row["category"], row["billable"]] += row["count"]
    assert used == priced


def test_nothing_crashed(outcome: Outcome) -> None:
    """An outage is logged without a traceback."""
    lines = outcome.ledger.gateway.log().splitlines()
    assert [line for line in lines if "Traceback" in line] == []


def test_what_is_still_unknown_fails_after_a_day(outcome: Outcome) -> None:
    outcome.ledger.let_a_day_pass()
    outcome.ledger.wait_until_idle(("messages",), BACK_SECONDS)
    broadcast = outcome.broadcast
    shown, recipients = broadcast.read(), broadcast.recipients()
    _check_counts(shown, recipients, broadcast.messages())
    assert shown["counts"]["unknown"] == 0
    before, after = (
        {each["to"]: each for each in rows} for rows in (outcome.recipients, recipients)
    )
    for to, each in after.items():
        was_unknown = before[to]["status"] == "unknown"
        expected = "outcome_unknown" if was_unknown else (before[to]["error"] or {}).get("code")
        assert (each["error"] or {}).get("code") == expected


def _check_counts(
    shown: dict[str, Any], recipients: list[dict[str, Any]], messages: list[dict[str, Any]]
) -> None:
    """The counts of a broadcast are those of its recipients, and of its messages."""
    counts = dict(shown["counts"])
    assert counts.pop("total") == sum(counts.values()) == len(recipients) == RECIPIENTS
    assert counts["waiting"] == counts["pending"] == counts["removed"] == 0
    found = {name: count for name, count in counts.items() if count}
    assert found == Counter(each["status"] for each in recipients)
    found.pop("skipped")
    assert found == Counter(each["status"] for each in messages)
    reasons = Counter(each["skipReason"] for each in recipients if each["skipReason"])
    assert {each["reason"]: each["count"] for each in shown["skipped"]} == reasons
