"""The limits of a minute: what an account may send, to one host and to all, and what urls on trial get."""

from collections import Counter
from dataclasses import replace
from itertools import chain

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries import claim
from models.deliveries.attempt import record_outcomes
from models.deliveries.claim import LEAST_TRIES, ClaimedDelivery, Terms
from models.deliveries.delivery import Delivery
from models.deliveries.host import ProvenHost, host_of
from models.deliveries.outgoing import MIB, Limits, Outgoing
from models.deliveries.webhook import MINUTE_MS, MOST_ON_TRIAL, Webhook
from tests import factories
from tests.conftest import Clock

LEASE_MS = 30_000
SIX = Limits(requests={"starter": 6, "pro": 1_000})
HOSTS = ("a.example", "b.example", "c.example", "d.example")


def _claim(limits: Limits, room: int = 100, per_webhook: int = 100) -> claim.Claim:
    return claim.claim_due(room, Terms(per_webhook, LEASE_MS, limits=limits))


def _claim_all(limits: Limits) -> list[ClaimedDelivery]:
    """Claim until no claim says that there may be more."""
    found, more = [], True
    while more:
        made = _claim(limits)
        found += made.deliveries
        more = made.more
    return found


def _at(owner: Account, *hosts: str) -> list[Webhook]:
    """A webhook at each of these hosts that has responded before."""
    return [factories.webhook(owner, f"https://{host}/hook") for host in hosts]


def _tried(owner: Account, *urls: str, count: int = 30) -> list[Webhook]:
    """A webhook at each of these urls, which has never responded, with due events."""
    made = [Webhook.register(owner.id, url, factories.ALL_KINDS, []) for url in urls]
    factories.deliveries(owner, *made, count=count)
    return made


def _hosts(claimed: list[ClaimedDelivery]) -> Counter[str]:
    return Counter(each.webhook.host for each in claimed)


@pytest.fixture
def starter() -> Account:
    """An account on the plan starter."""
    return Account.open("Starter", "starter")


@pytest.mark.usefixtures("state")
def test_an_account_gets_its_limit_in_each_minute_and_nothing_is_lost(
    starter: Account, clock: Clock
) -> None:
    factories.deliveries(starter, *_at(starter, *HOSTS), count=4)
    counts = []
    for _ in range(4):
        claimed = _claim_all(SIX)
        counts.append(len(claimed))
        assert {row.trial for row in Outgoing.select()} == {0}
        record_outcomes(map(factories.success, claimed), lambda _: None, 10)
        clock.advance(milliseconds=MINUTE_MS - 1)
        assert _claim_all(SIX) == []
        clock.advance(milliseconds=1)
    assert counts == [6, 6, 4, 0]


@pytest.mark.usefixtures("state")
def test_one_host_gets_half_of_it_with_all_its_webhooks(starter: Account) -> None:
    hooks = [factories.webhook(starter, f"https://A.example:{port}/{port}") for port in (1, 2, 3)]
    factories.deliveries(starter, *hooks, *_at(starter, "b.example"), count=4)
    assert _hosts(_claim_all(SIX)) == {"a.example": 3, "b.example": 3}


@pytest.mark.usefixtures("state")
def test_its_bytes_are_limited_like_its_requests(starter: Account) -> None:
    """A claim takes none after the body that reaches the limit."""
    hooks = _at(starter, *HOSTS)
    for _ in range(3):
        event = factories.event(starter, payload="x" * (MIB // 4))
        with writing():
            Delivery.schedule(event, hooks)
    claimed = _claim_all(Limits(mib={"starter": 1}))
    assert set(_hosts(claimed).values()) == {1}
    assert len(claimed) == 4
    assert {row.size for row in Outgoing.select()} == {len(claimed[0].content.body)}


@pytest.mark.usefixtures("state")
def test_each_account_has_a_limit_of_its_own(starter: Account, clock: Clock) -> None:
    assert clock.at
    for owner in (starter, Account.open("Other", "starter")):
        factories.deliveries(owner, *_at(owner, *HOSTS), count=4)
        claimed = _claim_all(SIX)
        assert [each.webhook.account_id for each in claimed] == [owner.id] * 6


@pytest.mark.usefixtures("state")
def test_the_part_of_a_host_is_rounded_up(starter: Account, clock: Clock) -> None:
    assert clock.at
    factories.deliveries(starter, *_at(starter, "a.example"), count=2)
    assert len(_claim_all(Limits(requests={"starter": 1}))) == 1


@pytest.mark.usefixtures("state")
def test_one_host_gets_half_of_the_bytes_over_all_claims(starter: Account, clock: Clock) -> None:
    assert clock.at
    hooks = _at(starter, "a.example:1", "a.example:2")
    for _ in range(3):
        event = factories.event(starter, payload="x" * (MIB // 4))
        with writing():
            Delivery.schedule(event, hooks)
    limits = Limits(mib={"starter": 1})
    assert [len(_claim(limits, room=1).deliveries) for _ in range(4)] == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Hooks.example:8443/a", "hooks.example"),
        ("https://192.0.2.7:8443/a", "192.0.2.7"),
        ("https://[2606:4700:4700::1111]:8443/a", "2606:4700:4700::1111"),
        ("http://localhost:8001/a", "localhost:8001"),
        ("http://[::1]:8001/a", "[::1]:8001"),
        ("http://127.0.0.2:8001/a", "127.0.0.2:8001"),
    ],
)
def test_a_host_counts_with_all_its_ports_but_on_loopback(url: str, host: str) -> None:
    """There each port is a program of its own."""
    assert host_of(url) == host


@pytest.mark.usefixtures("state")
def test_the_limit_holds_over_workers_that_claim_at_once(starter: Account, clock: Clock) -> None:
    assert clock.at
    factories.deliveries(starter, *_at(starter, *HOSTS), count=4)
    claims = factories.at_once(*[lambda: _claim_all(SIX)] * 4)
    assert len([*chain.from_iterable(claims)]) == 6
    assert sum(row.requests for row in Outgoing.select()) == 6


def test_an_account_at_its_limit_keeps_no_other_waiting(
    account: Account, starter: Account, clock: Clock
) -> None:
    factories.deliveries(starter, *_at(starter, *HOSTS), count=4)
    _claim_all(SIX)
    clock.advance(seconds=1)
    [other] = _at(account, "a.example")
    factories.deliveries(account, other)
    assert [each.webhook.id for each in _claim(SIX, room=1).deliveries] == [other.id]


@pytest.mark.usefixtures("state")
def test_a_claim_says_how_many_webhooks_wait_for_the_end_of_the_minute(
    starter: Account, clock: Clock
) -> None:
    hooks = _at(starter, *HOSTS)
    factories.deliveries(starter, *hooks, count=4)
    made = [_claim(SIX) for _ in range(3)]
    assert [(len(each.deliveries), each.paused, each.more) for each in made] == [
        (6, 0, True),
        (0, 4, True),
        (0, 0, False),
    ]
    until = clock.at - clock.at % MINUTE_MS + MINUTE_MS
    assert {Webhook.get_by_id(hook.id).waits_until(clock.at) for hook in hooks} == {until}
    clock.advance(milliseconds=MINUTE_MS)
    assert Webhook.get_by_id(hooks[0].id).waits_until(clock.at) is None


@pytest.mark.usefixtures("state")
def test_a_limit_ends_with_its_minute_also_after_the_clock_was_set_back(
    starter: Account, clock: Clock
) -> None:
    hooks = _at(starter, *HOSTS)
    factories.deliveries(starter, *hooks, count=4)
    assert len(_claim_all(SIX)) == 6
    clock.advance(hours=-1)
    assert {Webhook.get_by_id(hook.id).waits_until(clock.at) for hook in hooks} == {None}
    assert len(_claim_all(SIX)) == 6
    assert _claim_all(SIX) == []


@pytest.mark.usefixtures("state")
def test_retries_and_the_attempt_of_a_suspect_count(starter: Account, clock: Clock) -> None:
    factories.deliveries(starter, *_at(starter, "a.example"))
    for _ in range(LEAST_TRIES - 1):
        _claim(SIX)
        clock.advance(milliseconds=LEASE_MS)
        claim.bring_back(LEAST_TRIES)
    assert claim.claim_suspect(LEAST_TRIES, LEASE_MS) is not None
    assert sum(row.requests for row in Outgoing.select()) == LEAST_TRIES
    assert {row.trial for row in Outgoing.select()} == {0}
    size = len(factories.PAYLOAD) + factories.ID_BYTES
    assert {row.size // row.requests for row in Outgoing.select()} == {size}


def test_all_urls_on_trial_at_a_host_share_ten_events_a_minute(
    account: Account, starter: Account, clock: Clock
) -> None:
    """Over all paths, ports and accounts, while the host has never responded with 2xx to anybody."""
    assert clock.at % MINUTE_MS == 0
    for owner in (account, starter):
        _tried(owner, *(f"https://victim.example:{port}/{port}" for port in range(1, 8)))
    claimed = []
    for _ in range(2):
        claimed += _claim_all(Limits())
        clock.advance(milliseconds=MINUTE_MS)
    assert len(claimed) == 2 * MOST_ON_TRIAL
    assert len({each.webhook.account_id for each in claimed}) == 2


def test_an_account_gets_an_event_at_a_host_whose_room_others_used_up(
    account: Account, starter: Account, clock: Clock
) -> None:
    """Otherwise dead paths of one account would keep another's receiver from ever responding."""
    assert clock.at % MINUTE_MS == 0
    _tried(starter, *(f"https://new.example/{path}" for path in range(20)))
    assert len(_claim_all(Limits())) == MOST_ON_TRIAL
    [good, _] = _tried(account, "https://new.example/good", "https://new.example/other")
    [claimed] = _claim_all(Limits())
    assert claimed.webhook.id == good.id
    assert _claim_all(Limits()) == []
    record_outcomes([replace(factories.success(claimed), proven_url=good.url)], lambda _: None, 10)
    counts = Counter(each.webhook.account_id for each in _claim_all(Limits()))
    assert counts[account.id] > MOST_ON_TRIAL


def test_a_retry_does_not_take_the_event_that_an_account_gets_at_a_host_without_room(
    account: Account, starter: Account, clock: Clock
) -> None:
    assert clock.at % MINUTE_MS == 0
    [dead] = _tried(account, "https://new.example/dead", count=1)
    record_outcomes(map(factories.failure, _claim_all(Limits())), lambda _: 0.0, 10)
    clock.advance(milliseconds=MINUTE_MS)
    _tried(starter, *(f"https://new.example/{path}" for path in range(10)))
    assert len(_claim_all(Limits())) == MOST_ON_TRIAL
    claim.bring_back(LEAST_TRIES)
    [good] = _tried(account, "https://new.example/good")
    claimed = [each for _ in range(3) for each in _claim_all(Limits())]
    assert [(each.webhook.id, each.is_new) for each in claimed] == [
        (dead.id, False),
        (good.id, True),
    ]


def test_each_account_of_a_claim_gets_an_event_at_a_host_without_room(
    account: Account, starter: Account, clock: Clock
) -> None:
    assert clock.at % MINUTE_MS == 0
    third = Account.open("Third", "starter")
    _tried(third, *(f"https://new.example/{path}" for path in range(20)))
    assert len(_claim_all(Limits())) == MOST_ON_TRIAL
    for owner in (account, starter):
        _tried(owner, *(f"https://new.example/{owner.id}/{path}" for path in range(2)))
    claimed = _claim_all(Limits())
    assert Counter(each.webhook.account_id for each in claimed) == {account.id: 1, starter.id: 1}


def test_at_a_host_that_responded_each_url_on_trial_has_a_room_of_its_own(
    account: Account, starter: Account, clock: Clock
) -> None:
    """So nobody's dead paths at a popular host delay the first event of others."""
    assert clock.at
    [proven] = _at(account, "popular.example")
    factories.deliveries(account, proven, count=30)
    for owner in (account, starter):
        _tried(owner, *(f"https://popular.example/{path}" for path in range(3)))
    claimed = _claim_all(Limits())
    counts = Counter(each.webhook.id for each in claimed)
    assert counts.pop(proven.id) == 30
    assert [*counts.values()] == [MOST_ON_TRIAL] * 6


def test_the_first_2xx_proves_the_host_and_ends_the_trial_of_its_url(
    account: Account, clock: Clock
) -> None:
    assert clock.at
    hooks = _tried(account, "https://new.example/a", "https://new.example/b")
    claimed = _claim_all(Limits())
    [first, *_] = [each for each in claimed if each.webhook.id == hooks[0].id]
    record_outcomes(
        [replace(factories.success(first), proven_url=hooks[0].url)], lambda _: None, 10
    )
    assert [row.id for row in ProvenHost.select()] == ["new.example"]
    assert [Webhook.get_by_id(hook.id).on_trial for hook in hooks] == [False, True]
    # What waited for the room of the host is claimed at once.
    counts = Counter(each.webhook.id for each in _claim_all(Limits()))
    assert counts[hooks[0].id] > MOST_ON_TRIAL
    assert counts[hooks[1].id] == MOST_ON_TRIAL


def test_a_2xx_of_another_host_gives_a_url_on_trial_no_further_events(
    account: Account, clock: Clock
) -> None:
    assert clock.at
    _at(account, "other.example")
    [new, _] = _tried(account, "https://new.example/a", "https://other.example/a")
    claimed = _claim_all(Limits())
    proof = next(each for each in claimed if each.webhook.id == new.id)
    record_outcomes([replace(factories.success(proof), proven_url=new.url)], lambda _: None, 10)
    assert {*_hosts(_claim_all(Limits()))} == {"new.example"}


@pytest.mark.usefixtures("state")
def test_a_new_url_begins_on_trial(starter: Account, clock: Clock) -> None:
    """Otherwise an account whose first url responds could send all events to another server."""
    assert clock.at
    [hook] = _at(starter, "own.example")
    factories.deliveries(starter, hook, count=30)
    with writing():
        hook.change(url="https://victim.example/hook")
    assert _hosts(_claim_all(Limits())) == {"victim.example": MOST_ON_TRIAL}


def test_a_webhook_that_is_enabled_again_waits_for_no_minute_at_a_host_that_responded(
    account: Account, clock: Clock
) -> None:
    assert clock.at
    _at(account, "popular.example")
    [hook] = _tried(account, "https://popular.example/a")
    assert len(_claim_all(Limits())) == MOST_ON_TRIAL
    with writing():
        hook.deactivate()
        hook.activate()
    assert len(_claim_all(Limits())) == MOST_ON_TRIAL


def test_urls_on_trial_at_a_host_without_room_keep_no_other_waiting(
    account: Account, starter: Account, clock: Clock
) -> None:
    _tried(starter, "https://victim.example/1", "https://victim.example/2")
    claimed = _claim_all(Limits())
    assert len(claimed) == MOST_ON_TRIAL
    record_outcomes(map(factories.failure, claimed), lambda _: None, 100)
    assert _claim_all(Limits()) == []
    clock.advance(seconds=1)
    [other] = _at(account, "a.example")
    factories.deliveries(account, other)
    assert [each.webhook.id for each in _claim(Limits(), room=1).deliveries] == [other.id]


@pytest.mark.usefixtures("state")
def test_a_redelivery_counts_as_a_new_event_on_trial_and_a_retry_does_not(
    starter: Account, clock: Clock
) -> None:
    _tried(starter, "https://new.example/a", count=4)
    claimed = _claim_all(Limits())
    record_outcomes(map(factories.failure, claimed), lambda _: 0.0, 10)
    clock.advance(milliseconds=1)
    claim.bring_back(LEAST_TRIES)
    retried = _claim_all(Limits())
    assert (len(claimed), len(retried)) == (4, 4)
    assert Outgoing.get().trial == 4
    record_outcomes(map(factories.failure, retried), lambda _: None, 10)
    for each in retried:
        Delivery.get_by_id(each.delivery_id).redeliver()
    assert len(_claim_all(Limits())) == 4
    assert Outgoing.get().trial == 8


@pytest.mark.usefixtures("state")
def test_a_webhook_without_room_on_trial_shows_until_when_it_waits(
    starter: Account, clock: Clock
) -> None:
    [hook] = _tried(starter, "https://new.example/a")
    assert hook.waits_until(clock.at) is None
    _claim_all(Limits())
    clock.advance(seconds=59)
    assert Webhook.get_by_id(hook.id).waits_until(clock.at) == clock.at + 1_000
