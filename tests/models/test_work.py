"""The lease of all kinds of work, over one kind with a token and one without."""

from collections.abc import Callable

import pytest

from models.accounts.account import Account
from models.database import writing
from models.messages.template import TemplateList
from models.numbers.number import Number
from models.reports.incident import Incident, IncidentKind
from models.work import SLACK_MS, Work
from tests import factories
from tests.conftest import Clock

LEASE_MS, LONGEST_MS = 10_000, 60_000


def _incident(number: Number) -> type[Work]:
    with writing():
        words = {"title": "Broken", "detail": "It is broken.", "path": "/"}
        Incident.begin(number.account_id, IncidentKind.NUMBER_BANNED, number.id, **words)
    return Incident


def _list(number: Number) -> type[Work]:
    with writing():
        TemplateList.ask(number)
    return TemplateList


@pytest.fixture(params=[_incident, _list], ids=["token", "no token"])
def kind(request: pytest.FixtureRequest, number: Number, clock: Clock) -> type[Work]:
    """A kind of work with one row that is due."""
    assert clock.at
    make: Callable[[Number], type[Work]] = request.param
    return make(number)


def _claim(kind: type[Work]) -> Work:
    claimed = kind.claim(LEASE_MS)
    assert claimed is not None
    return claimed


def test_a_claim_counts_the_try_and_excludes_others_until_its_lease_ends(
    kind: type[Work], clock: Clock
) -> None:
    assert _claim(kind).tries == 1
    clock.advance(milliseconds=LEASE_MS - 1)
    assert kind.claim(LEASE_MS) is None
    clock.advance(milliseconds=1)
    assert _claim(kind).tries == 2


def test_workers_that_claim_at_once_get_a_row_once(kind: type[Work]) -> None:
    claims = factories.at_once(*[lambda: kind.claim(LEASE_MS)] * 4)
    assert len([claim for claim in claims if claim is not None]) == 1


def test_a_completed_row_is_due_again_at_its_next_time(kind: type[Work], clock: Clock) -> None:
    assert _claim(kind).complete(clock.at + 100, tries=0)
    assert kind.claim(LEASE_MS) is None
    clock.advance(milliseconds=100)
    assert _claim(kind).tries == 1


def test_a_row_that_backs_off_is_due_after_the_pause_and_no_longer_leased(
    kind: type[Work], clock: Clock
) -> None:
    assert _claim(kind).back_off(100)
    clock.advance(milliseconds=99)
    assert kind.claim(LEASE_MS) is None
    clock.advance(milliseconds=1)
    assert _claim(kind).tries == 2


def test_a_claim_that_another_worker_has_taken_over_changes_nothing(
    kind: type[Work], clock: Clock
) -> None:
    late = _claim(kind)
    clock.advance(milliseconds=LEASE_MS)
    current = _claim(kind)
    assert not late.back_off(0)
    assert kind.claim(LEASE_MS) is None
    assert current.back_off(0)
    assert not current.back_off(0), "it is complete"


def test_a_claim_leaves_other_rows_to_other_workers(kind: type[Work], account: Account) -> None:
    make = _incident if kind is Incident else _list
    make(factories.active_number(account, "1002", "2002"))
    assert _claim(kind).id != _claim(kind).id


def test_only_waits_beyond_the_longest_one_are_recalled(kind: type[Work], clock: Clock) -> None:
    assert _claim(kind).back_off(LONGEST_MS)
    clock.advance(milliseconds=-SLACK_MS)
    kind.recall(LONGEST_MS)
    assert kind.claim(LEASE_MS) is None
    clock.advance(milliseconds=-1)
    kind.recall(LONGEST_MS)
    _claim(kind)


def test_recalled_rows_may_wait(kind: type[Work], clock: Clock) -> None:
    assert _claim(kind).back_off(LONGEST_MS)
    clock.advance(hours=-1)
    kind.recall(LONGEST_MS, 5)
    assert kind.claim(LEASE_MS) is None
    clock.advance(milliseconds=5)
    _claim(kind)


def test_a_recall_can_be_limited_to_some_rows(kind: type[Work], clock: Clock) -> None:
    assert _claim(kind).back_off(LONGEST_MS)
    clock.advance(hours=-1)
    kind.recall(LONGEST_MS, 0, kind.tries == 0)
    assert kind.claim(LEASE_MS) is None
