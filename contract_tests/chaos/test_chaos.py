"""Random faults while messages are sent lose nothing, duplicate nothing and leave nothing pending.

Parts are killed or freeze, connections fall silent, clocks jump, the disk fills, servers stop, and the
queue is lost (chaos/faults.py).

``CHAOS_MESSAGES`` and ``CHAOS_KILLS`` set the numbers of messages and faults (large in ``make chaos``).
``CHAOS_SEED`` repeats a storm: the same fault at the same message. The exact moments remain random.
``CHAOS_ONLY`` selects faults by a regular expression for their names.
"""

import os
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contract_tests.backends import ALL, BACKEND, PGBOUNCER, SQLITE
from contract_tests.chaos.engines import PASSWORD
from contract_tests.chaos.monkey import LAST
from contract_tests.chaos.receivers import FAILURES, attempt_of
from contract_tests.chaos.senders import Answer, Senders
from contract_tests.chaos.storm import (
    CHOOSY,
    DELIVERY_TIMEOUT,
    FLAKY,
    LEASE,
    MAX_CONNECTIONS,
    STEADY,
    Aftermath,
    Plan,
    percentile,
    storm,
)
from contract_tests.harness import WAIT_SECONDS

IS_LARGE = "CHAOS_MESSAGES" in os.environ
MESSAGES = int(os.environ.get("CHAOS_MESSAGES", "200"))
# A small storm has one fault of each family.
FAULTS = int(os.environ.get("CHAOS_KILLS", "7"))
SEED = int(os.environ.get("CHAOS_SEED", secrets.randbits(32)))
ONLY = os.environ.get("CHAOS_ONLY", "")
LONGEST = 20 if IS_LARGE else 3
# A web and a worker have about ten places each that notice an outage. Each logs it again after ten seconds.
LINES_PER_FAULT, SECONDS_PER_LINE = 15, 10
# The limit from an event's commit to a working receiver, for 99 % of the events, outside of faults.
# A small storm runs beside other tests.
MOST_LAG_SECONDS = 2 if IS_LARGE else 5
# A large storm runs on all backends, a small one on the simplest and on the one with the most connections.
# TEST_BACKEND selects one.
STORMY = ALL if IS_LARGE else (SQLITE, PGBOUNCER)
CHOSEN = (BACKEND,) if "TEST_BACKEND" in os.environ else STORMY

pytestmark = pytest.mark.timeout(300 + MESSAGES + (90 + LONGEST) * FAULTS)


@pytest.fixture(scope="module", params=CHOSEN)
def aftermath(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    say: Callable[[str], None],
) -> Iterator[Aftermath]:
    """The result of a storm."""
    plan = Plan(request.param, MESSAGES, FAULTS, SEED, LONGEST, IS_LARGE, ONLY)
    folder: Path = tmp_path_factory.mktemp("chaos")
    sizes = f"{MESSAGES} messages, {FAULTS} faults, CHAOS_SEED={SEED}"
    say(f"\nChaos on {plan.backend}: {sizes}")
    with storm(folder, plan, say) as left:
        say(left.report())
        yield left


def test_faults_of_every_family_happened_while_work_was_running(aftermath: Aftermath) -> None:
    """Otherwise the tests below prove nothing."""
    monkey = aftermath.monkey
    assert monkey.struck.total() == len(monkey.work) == FAULTS > 0
    assert all(messages and deliveries for messages, deliveries in monkey.work)
    families = {fault.family for fault in monkey.faults}
    struck = {fault.family for fault in monkey.faults if fault.name in monkey.struck}
    assert len(struck) == min(FAULTS, len(families))
    if len(families) + len(monkey.faults) <= FAULTS:
        assert set(monkey.struck) == {fault.name for fault in monkey.faults}
    assert all(aftermath.hooks[FLAKY].mood.failures[how] for how in FAILURES)


def test_every_client_got_an_answer(aftermath: Aftermath) -> None:
    answers = Counter(aftermath.senders.answers.values())
    assert answers.total() == MESSAGES
    assert answers[Answer.SENT] > MESSAGES / 2


def test_every_due_event_reached_every_webhook_that_wants_it(aftermath: Aftermath) -> None:
    due = aftermath.ledger.due_events()
    assert due
    for hook in aftermath.hooks.all:
        wanted = {event for event in due if hook.wants(event[0])}
        assert set(hook.bodies()) == wanted, hook.name


def test_every_message_confirmed_to_a_client_was_accepted_and_read(
    aftermath: Aftermath,
) -> None:
    status = {m["id"]: m["status"] for m in aftermath.ledger.messages()}
    told = aftermath.senders.ids.values()
    assert {status[message_id] for message_id in told} == {"read"}


def test_every_message_that_the_network_accepted_is_read(aftermath: Aftermath) -> None:
    read = {m["toNumber"] for m in aftermath.ledger.messages() if m["status"] == "read"}
    assert read == {m["to"] for m in aftermath.ledger.accepted()}


def test_an_event_that_comes_twice_has_the_same_bytes(aftermath: Aftermath) -> None:
    for hook in aftermath.hooks.all:
        differing = [event for event, copies in hook.bodies().items() if len(set(copies)) > 1]
        assert differing == [], hook.name


def test_an_attempt_is_repeated_once_at_most_and_recorded_once(aftermath: Aftermath) -> None:
    """A request on a kept connection is repeated if the connection ended without an answer."""
    recorded = Counter((row.delivery_id, row.number) for row in aftermath.ledger.attempts())
    came = Counter(attempt_of(r) for hook in aftermath.hooks.all for r in hook.receiver.at())
    assert set(recorded.values()) == {1}
    assert set(came.values()) <= {1, 2}
    assert set(came) <= set(recorded)


def test_every_outcome_on_record_is_the_receivers(aftermath: Aftermath) -> None:
    """The result may be unknown or a timeout only if a fault was felt."""
    recorded = {(row.delivery_id, row.number): row for row in aftermath.ledger.attempts()}
    for hook in aftermath.hooks.all:
        for attempt, copies in hook.attempts().items():
            row = recorded.pop(attempt)
            felt = aftermath.monkey.windows.touches(
                (copies[0].at, copies[-1].at + DELIVERY_TIMEOUT)
            )
            *lost, answer = hook.mood.answers[attempt]
            assert felt or not any(lost), row
            if row.status_code is None:
                assert not row.success, row
                assert answer is None or felt, row
            else:
                assert row.status_code == answer, row
                assert row.success == (answer == 200), row
    # The other attempts never reached a receiver.
    assert all(row.status_code is None and not row.success for row in recorded.values())


def test_nothing_is_sent_again_after_a_success_is_on_record(aftermath: Aftermath) -> None:
    done: set[str] = set()
    for row in sorted(aftermath.ledger.attempts(), key=lambda row: row.number):
        assert row.delivery_id not in done, row
        if row.success:
            done.add(row.delivery_id)


@pytest.mark.parametrize("name", [STEADY, CHOOSY])
def test_a_healthy_webhook_is_delayed_only_by_faults(aftermath: Aftermath, name: str) -> None:
    hook = aftermath.hooks[name]
    lags = aftermath.lags(hook)
    assert len(lags) >= LAST
    assert percentile(lags, 0.99) <= MOST_LAG_SECONDS, aftermath.late(hook, MOST_LAG_SECONDS)
    assert max(aftermath.leased_lags(hook), default=0) <= LEASE + MOST_LAG_SECONDS


def test_no_delivery_was_given_up(aftermath: Aftermath) -> None:
    """Not even a delivery to the receiver that fails a third of the time."""
    due = aftermath.ledger.due_events()
    wanted = sum(hook.wants(kind) for hook in aftermath.hooks.all for kind, _ in due)
    assert aftermath.ledger.delivery_states() == {"delivered": wanted}


def test_nothing_is_left_pending(aftermath: Aftermath) -> None:
    assert set(aftermath.ledger.pending().values()) == {0}


def test_no_idempotency_key_sends_twice_even_when_all_are_repeated_at_the_end(
    aftermath: Aftermath,
) -> None:
    senders = aftermath.senders
    before = Counter(message["to"] for message in aftermath.ledger.accepted())
    assert set(before.values()) == {1}
    for number in range(MESSAGES):
        reached, first = before[Senders.recipient(number)], senders.answers[number]
        answer = senders.send(number)
        # A request without an outcome releases its key when it is certain that nothing was sent.
        may_send = reached or first is Answer.UNSETTLED
        assert answer is not Answer.SENT or may_send, f"message {number} was sent after: {first}"
        assert answer is not Answer.UNSETTLED or not reached, f"message {number} has no outcome"
    after = Counter(message["to"] for message in aftermath.ledger.accepted())
    assert set(after.values()) == {1}


def test_no_request_hung(aftermath: Aftermath) -> None:
    """Not even a request during an outage of the database or queue. A frozen web answers nobody."""
    outside = aftermath.monkey.windows.outside
    assert max(map(outside, aftermath.senders.requests)) < WAIT_SECONDS


def test_no_connection_is_left_over(aftermath: Aftermath) -> None:
    """PostgreSQL counts its connections. SQLite has none."""
    if aftermath.ledger.gateway.environment["GATEWAY_DATABASE_URL"]:
        assert 0 < aftermath.ledger.connections() <= MAX_CONNECTIONS


def test_an_outage_is_logged_in_few_lines_and_nothing_crashed(aftermath: Aftermath) -> None:
    """Every part notices an outage many times a second, and each place logs it once."""
    lines = aftermath.ledger.gateway.log().splitlines()
    told = [line for line in lines if re.search('"level":"(WARNING|ERROR)"', line)]
    windows = aftermath.monkey.windows.all
    times = sum(1 + (ended - began) / SECONDS_PER_LINE for began, ended in windows)
    assert len(told) <= LINES_PER_FAULT * times, told
    assert [line for line in told if "Traceback" in line] == []


def test_no_line_of_the_log_holds_a_password(aftermath: Aftermath) -> None:
    assert PASSWORD not in aftermath.ledger.gateway.log()
