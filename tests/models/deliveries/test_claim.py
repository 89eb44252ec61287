"""Claiming: which due deliveries a worker gets, and how many."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from gateway.settings import get_settings
from models.accounts.account import Account
from models.database import UnsureError, database, write, writing
from models.deliveries import claim
from models.deliveries.attempt import NO_OUTCOME, Attempt, record_outcomes
from models.deliveries.claim import (
    LEAST_TRIES,
    MOST_TOGETHER,
    Allowed,
    ClaimedDelivery,
    Terms,
    give_back,
    is_wanted,
)
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import LONGEST_REST_MS, Webhook
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due

LEASE_MS = 30_000
ROOT = Path(__file__).resolve().parents[2]
CLAIMER = """
import sys
from models import database
from models.deliveries.claim import Terms, claim_due
database.connect(sys.argv[1])
database.pending_migrations()
print("ready", flush=True)
sys.stdin.readline()
while claimed := claim_due(3, Terms(100, 30_000)).deliveries:
    for one in claimed:
        print(one.delivery_id)
"""


def _claim(room: int = 100, per_webhook: int = 100) -> list[ClaimedDelivery]:
    return claim_due(room, Terms(per_webhook, LEASE_MS))


def _claim_at(*webhook_ids: str, room: int, news: int) -> list[ClaimedDelivery]:
    """A claim while these webhooks have this pace."""
    paces = dict.fromkeys(webhook_ids, Allowed(room, news))
    return claim_due(100, Terms(100, LEASE_MS, paces=paces))


def _ids(claimed: list[ClaimedDelivery]) -> list[str]:
    return [one.delivery_id for one in claimed]


def _webhooks(claimed: list[ClaimedDelivery]) -> list[str]:
    return [one.webhook.id for one in claimed]


def test_a_claim_carries_all_that_an_attempt_needs(account: Account) -> None:
    webhook = factories.webhook(account, "https://example.com/hook")
    event = factories.event(account, "message.read", payload='{"event":"message.read"}')
    with writing():
        Delivery.schedule(event, [webhook])
    [claimed] = _claim()
    assert claimed.webhook.secret == webhook.secret
    assert (claimed.webhook.url, claimed.content.kind) == (webhook.url, "message.read")
    identified = b'{"id":"%b","event":"message.read"}' % event.id.encode()
    assert (claimed.content.body, claimed.attempt_number) == (identified, 1)


def test_a_webhook_with_few_due_deliveries_leaves_room_for_the_next_ones(
    account: Account,
) -> None:
    webhooks = [factories.webhook(account) for _ in range(3)]
    factories.deliveries(account, *webhooks, count=2)
    assert len(_claim(room=5, per_webhook=4)) == 5


def test_a_claim_serves_a_limited_number_of_webhooks(account: Account) -> None:
    webhooks = [factories.webhook(account) for _ in range(3 * MOST_TOGETHER)]
    made = factories.deliveries(account, *webhooks, count=2)
    claims = [_claim(room=1000, per_webhook=10) for _ in range(4)]
    assert [len(claim) for claim in claims] == [2 * MOST_TOGETHER] * 3 + [0]
    assert sorted(chain.from_iterable(map(_ids, claims))) == sorted(row.id for row in made)


def test_a_claimed_delivery_is_not_claimed_again(account: Account) -> None:
    made = factories.deliveries(account, factories.webhook(account), count=5)
    assert sorted(_ids(_claim(room=3)) + _ids(_claim())) == sorted(row.id for row in made)
    assert _claim() == []


def test_a_delivery_that_is_not_due_is_not_claimed(account: Account, clock: Clock) -> None:
    [delivery] = factories.deliveries(account, factories.webhook(account))
    with writing():
        Delivery.update(due=False, due_at=clock.at + 1).execute()
    assert _claim() == []
    clock.advance(milliseconds=1)
    assert _ids(_claim()) == [delivery.id]


def test_claimers_at_work_together_never_get_the_same_row(account: Account) -> None:
    webhooks = [factories.webhook(account) for _ in range(4)]
    made = factories.deliveries(account, *webhooks, count=25)

    def claim_until_none_is_left() -> list[str]:
        mine: list[str] = []
        while claimed := _claim(room=7):
            mine += _ids(claimed)
        return mine

    claimed = factories.at_once(*[claim_until_none_is_left] * 4)
    assert sorted(chain.from_iterable(claimed)) == sorted(row.id for row in made)


def test_claimers_of_two_processes_never_get_the_same_row(account: Account) -> None:
    made = factories.deliveries(account, *[factories.webhook(account) for _ in range(10)], count=20)
    program = [sys.executable, "-c", CLAIMER, get_settings().database_url]
    claimers = [
        subprocess.Popen(
            program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for claimer in claimers:
        assert claimer.stdout is not None
        assert claimer.stdout.readline() == "ready\n"
    for claimer in claimers:
        assert claimer.stdin is not None
        claimer.stdin.write("go\n")
        claimer.stdin.flush()
    claimed = [claimer.communicate()[0].split() for claimer in claimers]
    assert sorted(chain.from_iterable(claimed)) == sorted(row.id for row in made)


def test_a_webhook_gets_what_its_pace_allows(account: Account) -> None:
    webhook, other = factories.webhook(account), factories.webhook(account)
    factories.deliveries(account, webhook, count=5)
    factories.deliveries(account, other)
    first = _claim(per_webhook=2)
    assert sorted(_webhooks(first)) == sorted([webhook.id, webhook.id, other.id])
    assert _claim_at(webhook.id, room=0, news=0) == []
    assert _webhooks(_claim_at(webhook.id, room=1, news=1)) == [webhook.id]
    assert len(_claim_at(webhook.id, room=2, news=1)) == 1


def test_a_webhook_whose_pace_allows_no_new_event_gets_retries(account: Account) -> None:
    webhook = factories.webhook(account)
    retried, _ = factories.deliveries(account, webhook, count=2)
    assert _claim_at(webhook.id, room=2, news=0) == []
    with writing():
        Delivery.update(tries=1).where(Delivery.id == retried.id).execute()
    [claimed] = _claim_at(webhook.id, room=2, news=0)
    assert (claimed.delivery_id, claimed.is_new) == (retried.id, False)
    [other] = _claim_at(webhook.id, room=2, news=2)
    assert other.is_new


def test_a_webhook_whose_receiver_asked_for_a_rest_gets_retries(
    account: Account, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    retried, new = factories.deliveries(account, webhook, count=2)
    with writing():
        Delivery.update(tries=1).where(Delivery.id == retried.id).execute()
        Webhook.rest(webhook.id, clock.at + 2_000)
    assert _ids(_claim()) == [retried.id]
    clock.advance(milliseconds=1_999)
    assert _claim() == []
    clock.advance(milliseconds=1)
    assert _ids(_claim()) == [new.id]


def test_a_rest_that_began_before_the_clock_was_set_back_is_over(
    account: Account, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook)
    with writing():
        Webhook.rest(webhook.id, clock.at + LONGEST_REST_MS + 1)
    assert len(_claim()) == 1


def test_the_webhook_that_waits_longest_comes_first(account: Account, clock: Clock) -> None:
    webhooks = [factories.webhook(account) for _ in range(3)]
    waiting = [webhooks[1], webhooks[2], webhooks[0]]
    for webhook in waiting:
        factories.deliveries(account, webhook)
        clock.advance(seconds=1)
    claimed = [_webhooks(_claim(room=1)) for _ in waiting]
    assert claimed == [[webhook.id] for webhook in waiting]


def test_of_one_webhook_the_delivery_that_waits_longest_comes_first(
    account: Account, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    rows = factories.deliveries(account, webhook, count=3)
    with writing():
        for row, due in zip(rows, (-1, -3, -2), strict=True):
            Delivery.update(due_at=clock.at + due).where(Delivery.id == row.id).execute()
    claimed = [_ids(_claim(room=1)) for _ in rows]
    assert claimed == [[rows[1].id], [rows[2].id], [rows[0].id]]


def test_webhooks_at_their_cap_do_not_keep_others_waiting(account: Account, clock: Clock) -> None:
    """This holds however long they have waited, and for any room."""
    hanging = [factories.webhook(account) for _ in range(3)]
    factories.deliveries(account, *hanging, count=3)
    assert len(_claim(per_webhook=1)) == 3
    clock.advance(seconds=1)
    healthy = factories.webhook(account)
    factories.deliveries(account, healthy)
    full = dict.fromkeys((hook.id for hook in hanging), Allowed(0, 0))
    assert _webhooks(claim_due(1, Terms(1, LEASE_MS, paces=full))) == [healthy.id]


def test_webhooks_that_may_get_no_new_event_do_not_keep_others_waiting(
    account: Account, clock: Clock
) -> None:
    resting, slowed = factories.webhook(account), factories.webhook(account)
    factories.deliveries(account, resting, slowed)
    with writing():
        Webhook.rest(resting.id, clock.at + 2_000)
    clock.advance(seconds=1)
    healthy = factories.webhook(account)
    factories.deliveries(account, healthy)
    paces = {slowed.id: Allowed(5, 0)}
    assert _webhooks(claim_due(1, Terms(1, LEASE_MS, paces=paces))) == [healthy.id]


def test_the_free_capacity_limits_a_claim_over_all_webhooks(account: Account) -> None:
    factories.deliveries(account, *[factories.webhook(account) for _ in range(3)], count=3)
    counts = [len(_claim(room=4)) for _ in range(4)]
    assert (counts[0], max(counts), sum(counts)) == (4, 4, 9)


def test_a_claim_whose_worker_died_is_due_again_when_its_lease_runs_out(
    account: Account, clock: Clock
) -> None:
    factories.deliveries(account, factories.webhook(account))
    [dead] = _claim()
    clock.advance(milliseconds=LEASE_MS - 1)
    assert _claim() == []
    clock.advance(milliseconds=1)
    [claimed] = _claim()
    assert claimed.delivery_id == dead.delivery_id
    assert claimed.lease_token != dead.lease_token
    assert claimed.attempt_number == 2, "the attempt of the dead worker counts"
    [lost] = Attempt.of(Delivery.get_by_id(dead.delivery_id))
    assert (lost.number, lost.success, lost.error) == (1, False, NO_OUTCOME)


def _die(clock: Clock, **terms: Any) -> list[ClaimedDelivery]:
    """Claim, and let the leases run out."""
    claimed = claim_due(100, Terms(100, LEASE_MS, **terms))
    clock.advance(milliseconds=LEASE_MS)
    return claimed


def test_a_delivery_fails_when_its_worker_has_died_in_every_attempt(
    account: Account, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    [poison] = factories.deliveries(account, webhook)
    for number in range(1, 5):
        assert [one.attempt_number for one in _die(clock)] == [number]
    assert _claim() == []
    failed = Delivery.get_by_id(poison.id)
    assert (failed.state, failed.completed_at) == (DeliveryState.FAILED, clock.at)
    assert [a.error for a in Attempt.of(failed)] == [NO_OUTCOME] * 4
    assert Webhook.get_by_id(webhook.id).failure_count == 0, "it is no fault of the receiver"
    failed.redeliver()
    assert _ids(_claim()) == [poison.id]


def test_the_last_attempt_after_dead_workers_is_made_alone(account: Account, clock: Clock) -> None:
    """So a delivery that kills its worker affects no others."""
    made = factories.deliveries(account, factories.webhook(account), count=3)
    for _ in range(3):
        assert len(_die(clock)) == 3
    [fresh] = factories.deliveries(account, factories.webhook(account))
    assert claim.bring_back(LEAST_TRIES) == (True, False)
    assert _ids(claim.claim_due(100, Terms(100, LEASE_MS)).deliveries) == [fresh.id]
    one_by_one = [claim.claim_suspect(LEAST_TRIES, LEASE_MS) for _ in range(4)]
    assert [one and one.delivery_id for one in one_by_one] == [*(row.id for row in made), None]


def test_a_delivery_whose_worker_died_once_waits_for_no_other(
    account: Account, clock: Clock
) -> None:
    """After two ordinary failures. One kill interrupts many such attempts at once."""
    made = factories.deliveries(account, factories.webhook(account), count=3)
    for _ in range(2):
        record_outcomes(map(factories.failure, _claim()), lambda _: 0.0, 10)
    assert len(_die(clock)) == 3
    assert sorted(_ids(_claim())) == sorted(row.id for row in made)


def test_a_disabled_webhook_gets_no_deliveries_of_a_dead_worker(
    account: Account, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    rows = factories.deliveries(account, webhook, count=2)
    with writing():
        Delivery.update(tries=3).where(Delivery.id == rows[0].id).execute()
    claim_due(100, Terms(100, LEASE_MS))
    with writing():
        webhook.deactivate()
        assert Delivery.skip_waiting(webhook.id) == 0, "both are under way"
    clock.advance(milliseconds=LEASE_MS)
    assert _claim() == []
    assert {Delivery.get_by_id(row.id).state for row in rows} <= {"skipped", "failed"}
    assert not Delivery.select().where(Delivery.due | (Delivery.state == "pending")).exists()


def test_a_disabled_webhook_gets_no_last_attempt_alone(account: Account, clock: Clock) -> None:
    webhook = factories.webhook(account)
    [suspect] = factories.deliveries(account, webhook)
    for _ in range(LEAST_TRIES - 1):
        assert len(_die(clock)) == 1
    with writing():
        webhook.deactivate()
    assert claim.claim_suspect(LEAST_TRIES, LEASE_MS) is None
    assert Delivery.get_by_id(suspect.id).state == DeliveryState.SKIPPED


def test_accounts_take_turns(account: Account, clock: Clock) -> None:
    other = Account.open("Other", "starter")
    crowd = [factories.webhook(account) for _ in range(20)]
    factories.deliveries(account, *crowd, count=3)
    clock.advance(seconds=1)
    late = factories.webhook(other)
    factories.deliveries(other, late)
    assert late.id in _webhooks(_claim(room=2))


def test_an_account_without_attempts_comes_before_older_backlogs(clock: Clock) -> None:
    others = [Account.open("Other", "starter") for _ in range(4)]
    for other in others:
        factories.deliveries(other, factories.webhook(other), factories.webhook(other), count=5)
    clock.advance(seconds=1)
    assert len(_claim(room=4)) == 4
    late = Account.open("Late", "starter")
    webhook = factories.webhook(late)
    factories.deliveries(late, webhook)
    assert webhook.id in _webhooks(_claim(room=2))


def test_webhooks_at_their_cap_take_up_no_turn_of_their_account(
    account: Account, clock: Clock
) -> None:
    full = [factories.webhook(account) for _ in range(5)]
    factories.deliveries(account, *full, count=2)
    assert len(_claim(per_webhook=1)) == 5
    clock.advance(seconds=1)
    others = [Account.open("Other", "starter") for _ in range(3)]
    crowd = [factories.webhook(other) for other in others for _ in range(2)]
    for webhook in crowd:
        factories.deliveries(Account.get_by_id(webhook.account_id), webhook)
    clock.advance(seconds=1)
    healthy = factories.webhook(account)
    factories.deliveries(account, healthy)
    paces = dict.fromkeys((hook.id for hook in full), Allowed(0, 0))
    assert healthy.id in _webhooks(claim_due(6, Terms(1, LEASE_MS, paces=paces)))


def test_an_account_has_no_more_in_flight_than_its_part(account: Account) -> None:
    webhooks = [factories.webhook(account) for _ in range(4)]
    factories.deliveries(account, *webhooks, count=5)
    assert len(claim_due(100, Terms(10, LEASE_MS, per_account=7))) == 7
    assert len(claim_due(100, Terms(10, LEASE_MS, per_account=7, in_flight={account.id: 5}))) == 2
    assert claim_due(100, Terms(10, LEASE_MS, per_account=7, in_flight={account.id: 7})) == []


def test_a_claim_is_wanted_while_its_lease_outlasts_an_attempt(
    account: Account, clock: Clock
) -> None:
    factories.deliveries(account, factories.webhook(account))
    [claimed] = claim_due(1, Terms(1, 30_000))
    clock.advance(seconds=10)
    assert is_wanted(claimed, 20_000)
    clock.advance(milliseconds=1)
    assert not is_wanted(claimed, 20_000)


def test_a_claim_that_is_given_back_costs_no_attempt(account: Account, clock: Clock) -> None:
    factories.deliveries(account, factories.webhook(account))
    record_outcomes(map(factories.failure, _claim()), lambda _: 0.0, 10)
    [claimed] = _claim()
    clock.advance(milliseconds=7)
    give_back([claimed])
    row = Delivery.get()
    assert (row.due, row.lease_token, row.due_at) == (True, None, clock.at)
    assert (row.tries, row.attempt_count) == (1, 1)
    assert [again.attempt_number for again in _claim()] == [2]


def test_a_claim_of_a_redelivery_is_given_back_without_tries(account: Account) -> None:
    [delivery] = factories.deliveries(account, factories.webhook(account))
    [claimed] = _claim()
    with writing():
        delivery.redeliver()
    give_back([claimed])
    assert Delivery.get().tries == 0


def test_a_claim_that_another_worker_took_over_is_not_given_back(
    account: Account, clock: Clock
) -> None:
    factories.deliveries(account, factories.webhook(account))
    [late] = _claim()
    clock.advance(milliseconds=LEASE_MS)
    [current] = _claim()
    give_back([late])
    row = Delivery.get()
    assert (row.due, row.lease_token, row.tries) == (False, current.lease_token, 2)
    assert not is_wanted(late, 0)
    assert is_wanted(current, 0)


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_claim_whose_commit_had_no_response_is_given_back_at_once(
    account: Account, monkeypatch: pytest.MonkeyPatch, *, is_stored: bool
) -> None:
    """Nobody would attempt its deliveries before the lease ends."""
    factories.deliveries(account, factories.webhook(account), factories.webhook(account))
    [other] = _claim(room=1)

    def lose(work: Callable[[], object], *keys: str) -> None:
        if is_stored:
            write(work, *keys)
        raise UnsureError("lost", is_silent=False)

    with monkeypatch.context() as lost:
        lost.setattr(claim, "write", lose)
        with pytest.raises(UnsureError):
            claim.claim_due(1, Terms(100, LEASE_MS))
    assert Delivery.select().where(Delivery.due).count() == 1 - is_stored
    [again] = _claim()
    assert (again.attempt_number, again.delivery_id != other.delivery_id) == (1, True)
    assert _claim() == []
    assert is_wanted(other, 0)
    assert is_wanted(again, 0)
    assert claim._unsure == [], "it is undone once"


@pytest.fixture
def on_trial(account: Account) -> Webhook:
    """A webhook whose url never responded, with 30 events."""
    webhook = factories.webhook(account)
    with writing():
        Webhook.update(trial_minute_at=0).execute()
    factories.deliveries(account, webhook, count=30)
    return webhook


def test_a_url_that_never_answered_gets_ten_events_in_a_minute(
    on_trial: Webhook, clock: Clock
) -> None:
    terms, claimed = Terms(100, 3 * 60_000), []
    for _ in range(120):
        claimed += claim_due(100, terms)
        clock.advance(seconds=1)
    assert len(claimed) == 20
    proof = replace(factories.success(claimed[-1]), proven_url=on_trial.url)
    record_outcomes([proof], lambda _: None, 10)
    assert len(claim_due(100, terms)) == 10


def test_the_events_of_a_trial_are_counted_over_all_claims_of_a_minute(
    on_trial: Webhook, account: Account
) -> None:
    others = [factories.webhook(account) for _ in range(9)]
    factories.deliveries(account, *others, count=2)
    counts = [_webhooks(_claim(room=30)).count(on_trial.id) for _ in range(5)]
    assert counts[0] == 3, "its part of the room"
    assert sum(counts) == Webhook.get_by_id(on_trial.id).trial_events == 10


@pytest.mark.usefixtures("on_trial")
def test_a_trial_goes_on_after_the_clock_was_set_back(clock: Clock) -> None:
    terms = Terms(100, LEASE_MS)
    assert len(claim_due(100, terms)) == 10
    clock.advance(hours=-1)
    assert len(claim_due(100, terms)) == 10
    assert claim_due(100, terms) == []


@pytest.mark.usefixtures("on_trial")
def test_retries_do_not_count_against_the_trial_of_a_url(clock: Clock) -> None:
    terms = Terms(100, LEASE_MS)
    first = claim_due(100, terms)
    assert claim_due(100, terms) == []
    record_outcomes(map(factories.failure, first), lambda _: 1.0, 10)
    clock.advance(seconds=1)
    assert {c.delivery_id for c in claim_due(100, terms)} == {c.delivery_id for c in first}


def test_an_answer_of_the_url_before_does_not_end_the_trial(on_trial: Webhook) -> None:
    [claimed, *_] = claim_due(100, Terms(100, LEASE_MS))
    on_trial.change(url="http://127.0.0.1:9/other")
    proof = replace(factories.success(claimed), proven_url=claimed.webhook.url)
    record_outcomes([proof], lambda _: None, 10)
    assert Webhook.get_by_id(on_trial.id).on_trial


def _trace(take: Callable[[str], object] | None) -> None:
    """Trace the statements of the writer's connection."""
    with writing():
        database.connection().set_trace_callback(take)


@pytest.fixture
def plans(account: Account) -> Callable[[], str]:
    """Records every statement. The result is SQLite's plan for each."""
    factories.deliveries(account, factories.webhook(account), factories.webhook(account), count=3)
    statements: list[str] = []
    _trace(statements.append)

    def explain() -> str:
        _trace(None)
        queries = [s for s in statements if s.lstrip().startswith(("SELECT", "UPDATE", "WITH"))]
        rows = [database.execute_sql(f"EXPLAIN QUERY PLAN {query}").fetchall() for query in queries]
        return "\n".join(str(step[3]) for plan in rows for step in plan)

    return explain


@pytest.mark.sqlite("the words of its query plans")
def test_claiming_walks_the_partial_indexes_and_scans_no_table(plans: Callable[[], str]) -> None:
    waiting = Delivery.get()
    with writing():
        Delivery.update(due=False).where(Delivery.id == waiting.id).execute()
    assert len(_claim()) == 6
    plan = plans()
    assert "INDEX delivery_due (webhook_id=?" in plan
    assert "INDEX delivery_waiting" in plan
    scans = [step for step in plan.splitlines() if step.startswith("SCAN")]
    ours = ["walk", "open", "delivery_due", "delivery_waiting", "subquery", "json_each"]
    # The few rows of a part, by their bytes.
    ours += ["found", "counted"]
    assert [step for step in scans if not any(word in step for word in ours)] == []


def test_deliveries_waiting_for_a_retry_do_not_slow_a_claim(account: Account, clock: Clock) -> None:
    """Only webhooks with due deliveries are visited."""
    waiting = [factories.webhook(account) for _ in range(50)]
    factories.deliveries(account, *waiting)
    with writing():
        Delivery.update(due=False, due_at=clock.at + 1_000).execute()
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook)
    walked = Delivery.select(Delivery.webhook).where(Delivery.due).distinct()
    assert [row.webhook_id for row in walked] == [webhook.id]
    assert _webhooks(_claim()) == [webhook.id]
