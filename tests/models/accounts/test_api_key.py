"""API keys: their form, their digests, revocation and last use."""

import hashlib
import re

from contract_tests.stored import Stored
from models.accounts.account import Account, ApiKey
from tests import factories
from tests.conftest import Clock


def test_a_key_is_the_prefix_and_43_url_safe_characters(account: Account) -> None:
    _, key = ApiKey.issue(account, "ci")
    assert re.fullmatch(r"mk_live_[A-Za-z0-9_-]{43}", key)


def test_a_key_opens_its_account(account: Account) -> None:
    _, key = ApiKey.issue(account, "ci")
    assert factories.owner(key) == account


def test_an_unknown_key_opens_nothing(account: Account) -> None:
    _, key = ApiKey.issue(account, "ci")
    for wrong in (
        "",
        "mk_live_",
        key[:-1],
        key + "A",
        key.lower(),
        "\ud800",
        "mk_live_" + "A" * 43,
    ):
        assert factories.owner(wrong) is None


def test_only_a_digest_of_a_key_is_at_rest(account: Account, state: Stored) -> None:
    row, key = ApiKey.issue(account, "ci")
    factories.owner(key)
    stored = state.everything()
    assert row.digest == hashlib.sha256(key.encode()).hexdigest()
    assert row.digest.encode() in stored
    assert key.encode() not in stored
    assert key.removeprefix("mk_live_").encode() not in stored


def test_a_revoked_key_is_void_at_once_and_its_sibling_is_not(account: Account) -> None:
    row, key = ApiKey.issue(account, "old")
    _, other = ApiKey.issue(account, "new")
    assert factories.owner(key) is not None
    row.revoke()
    assert factories.owner(key) is None
    assert factories.owner(other) == account


def test_revoking_again_keeps_the_first_time(account: Account, clock: Clock) -> None:
    row, _ = ApiKey.issue(account, "ci")
    row.revoke()
    revoked_at = ApiKey.get_by_id(row.id).revoked_at
    clock.advance(hours=1)
    row.revoke()
    assert ApiKey.get_by_id(row.id).revoked_at == revoked_at


def test_the_last_use_is_exact_to_the_hour_only(account: Account, clock: Clock) -> None:
    row, key = ApiKey.issue(account, "ci")

    def use() -> int | None:
        found = ApiKey.unrevoked(key)
        assert found is not None
        if found[0].is_use_due(clock.at):
            found[0].note_use()
        last: int | None = ApiKey.get_by_id(row.id).last_used_at
        return last

    assert ApiKey.get_by_id(row.id).last_used_at is None
    first = clock.at
    assert use() == first
    clock.advance(minutes=59)
    assert use() == first
    assert use() == first
    assert clock.advance(minutes=1) == use()
