"""The bytes of a claim: large bodies leave room for few others, and none waits for ever."""

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries import claim
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery
from models.deliveries.outgoing import Outgoing
from models.deliveries.webhook import Webhook
from tests import factories

LEASE_MS = 30_000
SIZE = 1_000


def _deliver(account: Account, *webhooks: Webhook, count: int = 1, text: str = "x" * SIZE) -> None:
    """The bodies have the bytes of the text."""
    for _ in range(count):
        event = factories.event(account, payload=text[: -factories.ID_BYTES])
        with writing():
            Delivery.schedule(event, webhooks)


def _claim(size: int, room: int = 100, **terms: object) -> claim.Claim:
    return claim.claim_due(room, Terms(100, LEASE_MS, size=size, **terms))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "count"), [(1, 1), (SIZE, 1), (SIZE + 1, 2), (4 * SIZE, 4), (9 * SIZE, 5), (0, 0)]
)
def test_a_claim_takes_none_after_the_body_that_fills_its_bytes(
    account: Account, size: int, count: int
) -> None:
    _deliver(account, factories.webhook(account), count=5)
    made = _claim(size)
    assert len(made.deliveries) == count
    assert made.more is (count < 5)
    assert sum(len(each.content.body) for each in made.deliveries) == count * SIZE


def test_the_oldest_bodies_are_claimed_first_whatever_their_size(account: Account) -> None:
    webhook = factories.webhook(account)
    for length in (103, 200, 101):
        _deliver(account, webhook, text="x" * length)
    lengths = [[len(each.content.body) for each in _claim(102).deliveries] for _ in range(3)]
    assert lengths == [[103], [200], [101]]


def test_webhooks_share_the_bytes_of_a_claim(account: Account) -> None:
    webhooks = [factories.webhook(account) for _ in range(4)]
    _deliver(account, *webhooks, count=3)
    claimed = _claim(4 * SIZE).deliveries
    assert sorted(each.webhook.id for each in claimed) == sorted(each.id for each in webhooks)


def test_an_account_has_no_more_bytes_in_flight_than_its_part(account: Account) -> None:
    """And the accounts beside it are served."""
    other = Account.open("Other", "starter")
    for owner in (account, other):
        _deliver(owner, factories.webhook(owner), count=5)
    claimed = _claim(100 * SIZE, size_per_account=2 * SIZE).deliveries
    assert len(claimed) == 4
    full = {account.id: 2 * SIZE}
    made = _claim(100 * SIZE, size_per_account=2 * SIZE, size_in_flight=full)
    assert {each.webhook.account_id for each in made.deliveries} == {other.id}
    assert account.id in made.crowded, "its deliveries wait for room"


def test_bytes_are_those_of_utf8_and_those_that_are_not_known_count_as_64_kib(
    account: Account,
) -> None:
    text = "{" + "\N{GRINNING FACE}" * 10 + "x" * factories.ID_BYTES
    _deliver(account, factories.webhook(account), count=4, text=text)
    size = len(text.encode())
    assert {row.size for row in Delivery.select()} == {size}
    assert len(_claim(size + 1).deliveries) == 2
    with writing():
        # As a version stores them that counts no bytes.
        Delivery.update(size=None).execute()
    assert len(_claim(64 << 10).deliveries) == 1
    assert len(_claim((64 << 10) + 1).deliveries) == 1
    assert Outgoing.get().size == 2 * size + 2 * (64 << 10)
