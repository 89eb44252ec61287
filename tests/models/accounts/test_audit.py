"""The audit log: its rows, their actors, and the filters."""

from typing import Any

from models.accounts.account import Account
from models.accounts.actor import NETWORK, SERVICE, Actor, ActorKind, acting
from models.accounts.audit import Audit
from models.accounts.user import Role
from models.database import fetch, writing
from tests.conftest import Clock
from tests.people import member

KEY = Actor(ActorKind.KEY, "key_1", "shop", "192.0.2.1")


def test_a_row_has_the_present_actor(account: Account) -> None:
    with acting(KEY):
        Audit.record(account.id, "webhook.created", "wh_1", after={"url": "https://a.test/"})
        with acting(NETWORK):
            Audit.record(account.id, "number.banned", "num_1")
        Audit.record(account.id, "webhook.deleted", "wh_1")
    Audit.record(account.id, "webhook.disabled", "wh_2")
    assert [row.actor for row in Audit.all(account.id)] == [KEY, NETWORK, KEY, SERVICE]


def test_a_row_has_the_values_that_differ_and_none_is_written_for_equal_states(
    account: Account,
) -> None:
    before = {"url": "https://a.test/", "events": ["message.sent"]}
    Audit.record(account.id, "webhook.changed", "wh_1", before=before, after=before)
    after = before | {"url": "https://b.test/"}
    Audit.record(account.id, "webhook.changed", "wh_1", before=before, after=after)
    [row] = Audit.all(account.id)
    assert (row.before, row.after) == ({"url": "https://a.test/"}, {"url": "https://b.test/"})


def _of_the_first_release(account: Account, user_id: str | None) -> None:
    """A row as 1.0.0 writes it, which may still run beside this release."""
    with writing():
        Audit.insert(
            id=f"aud_{user_id}",
            account=account.id,
            at=1,
            actor_id=user_id,
            name="ada@example.com" if user_id else "operator",
            address="",
            action="user.role_changed",
            after_json='{"role": "agent"}',
        ).execute()


def test_rows_of_the_first_release_have_their_actors(account: Account) -> None:
    _of_the_first_release(account, "usr_1")
    _of_the_first_release(account, None)
    kinds = {row.actor.kind: row for row in Audit.all(account.id)}
    assert kinds.keys() == {ActorKind.USER, ActorKind.OPERATOR}
    for kind, row in kinds.items():
        assert (row.before, row.after) == ({}, {"role": "agent"})
        assert fetch(Audit.search(account.id, actor=kind)) == [row]


def test_rows_are_found_by_actor_action_subject_and_time(account: Account, clock: Clock) -> None:
    user = member(account, Role.OWNER).actor("192.0.2.2")
    for at, (actor, action, subject) in enumerate(
        [(KEY, "key.revoked", "key_2"), (user, "key.created", "key_2"), (user, "key.revoked", "k")]
    ):
        Audit.record(account.id, action, subject, by=actor)
        assert at < clock.advance(hours=1)
    first, second, third = Audit.all(account.id)

    def found(**wanted: Any) -> list[Audit]:
        return fetch(Audit.search(account.id, **wanted))

    assert found() == [third, second, first]
    assert found(actor="key_1") == found(actor="shop") == found(actor="key") == [first]
    assert found(actor=user.name) == found(actor="user") == [third, second]
    assert found(action="key.revoked") == [third, first]
    assert found(subject="key_2") == [second, first]
    assert found(since=second.at, until=third.at) == [second]
    assert not fetch(Audit.search(Account.open("Rival", "pro").id))
