"""Nothing is lost, doubled or left over when everything is killed at random while messages are sent.

``CHAOS_MESSAGES`` and ``CHAOS_KILLS`` set the size (``make chaos`` a large one), ``CHAOS_SEED`` repeats a
storm: who is killed at which message. The moments within a message stay chance.
"""

import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests.backends import ALL, BACKEND, REDIS, SQLITE
from contract_tests.chaos.engines import PASSWORD
from contract_tests.chaos.monkey import QUEUE_DELETIONS
from contract_tests.chaos.receivers import FAILURES
from contract_tests.chaos.senders import Answer, Senders
from contract_tests.chaos.storm import MAX_CONNECTIONS, Aftermath, Plan, storm
from contract_tests.harness import WAIT_SECONDS

MESSAGES = int(os.environ.get("CHAOS_MESSAGES", "200"))
KILLS = int(os.environ.get("CHAOS_KILLS", "6"))
SEED = int(os.environ.get("CHAOS_SEED", secrets.randbits(32)))
# A web and a worker have about ten places each that notice an outage.
LINES_PER_KILL = 15
# Whatever the other tests run on: each in a large storm, and in a small one those that share nothing.
STORMY = ALL if "CHAOS_MESSAGES" in os.environ else (SQLITE, REDIS)
CHOSEN = (BACKEND,) if "TEST_BACKEND" in os.environ else STORMY

pytestmark = pytest.mark.timeout(300 + MESSAGES + 20 * KILLS)


def show(request: pytest.FixtureRequest, text: str) -> None:
    """Print, though pytest captures."""
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


@pytest.fixture(scope="module", params=CHOSEN)
def aftermath(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Aftermath]:
    """What a storm left."""
    plan = Plan(request.param, MESSAGES, KILLS, SEED)
    folder: Path = tmp_path_factory.mktemp("chaos")
    show(
        request, f"\nChaos on {plan.backend}: {MESSAGES} messages, {KILLS} kills, CHAOS_SEED={SEED}"
    )
    with storm(folder, plan, lambda text: show(request, text)) as left:
        show(request, left.report())
        yield left


def test_every_victim_was_killed_while_work_was_under_way_and_the_queue_deleted(
    aftermath: Aftermath,
) -> None:
    """Otherwise all that follows shows nothing."""
    monkey = aftermath.monkey
    assert monkey.kills.total() == len(monkey.work) >= KILLS > 0
    assert len(monkey.kills) == min(KILLS, len(monkey.victims))
    assert all(messages and deliveries for messages, deliveries in monkey.work)
    assert monkey.queue_deletions == QUEUE_DELETIONS
    assert all(aftermath.mood.failures[how] for how in FAILURES)


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


def test_every_message_that_a_client_was_told_of_was_accepted_and_read(
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


def test_no_delivery_was_given_up(aftermath: Aftermath) -> None:
    """Not even those to the receiver that fails a third of the time."""
    due = aftermath.ledger.due_events()
    wanted = sum(hook.wants(kind) for hook in aftermath.hooks.all for kind, _ in due)
    assert aftermath.ledger.delivery_states() == {"delivered": wanted}


def test_nothing_is_left_pending(aftermath: Aftermath) -> None:
    assert set(aftermath.ledger.pending().values()) == {0}


def test_no_idempotency_key_was_sent_twice_not_even_when_all_are_repeated_in_the_end(
    aftermath: Aftermath,
) -> None:
    senders = aftermath.senders
    before = Counter(message["to"] for message in aftermath.ledger.accepted())
    assert set(before.values()) == {1}
    for number in range(MESSAGES):
        reached = before[Senders.recipient(number)]
        answer = senders.send(number)
        assert answer is not Answer.SENT or reached, f"message {number} was sent by a repetition"
        assert answer is not Answer.UNSETTLED or not reached, f"message {number} has no outcome"
    assert Counter(message["to"] for message in aftermath.ledger.accepted()) == before


def test_no_request_hung(aftermath: Aftermath) -> None:
    """Not even one that came while its database or queue was away."""
    assert max(aftermath.senders.durations) < WAIT_SECONDS


def test_no_connection_is_left_over(aftermath: Aftermath) -> None:
    """The server counts them. Files have none."""
    if aftermath.ledger.gateway.environment["GATEWAY_DATABASE_URL"]:
        assert 0 < aftermath.ledger.connections() <= MAX_CONNECTIONS


def test_an_outage_is_told_in_few_lines_and_nothing_crashed(aftermath: Aftermath) -> None:
    """Everything notices an outage, many times a second, and each place says so once."""
    lines = aftermath.ledger.gateway.log().splitlines()
    told = [line for line in lines if re.search('"level":"(WARNING|ERROR)"', line)]
    assert len(told) <= LINES_PER_KILL * aftermath.monkey.kills.total(), told
    assert [line for line in told if "Traceback" in line] == []


def test_no_line_of_the_log_holds_a_password(aftermath: Aftermath) -> None:
    assert PASSWORD not in aftermath.ledger.gateway.log()
