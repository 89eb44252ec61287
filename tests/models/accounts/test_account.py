"""A suspended account: its keys and users have no access until it is resumed. Words to opt out and in."""

import pytest

from models.accounts.account import Account, ApiKey
from models.accounts.user import User
from models.accounts.user_session import UserSession
from tests import factories
from tests.conftest import Clock
from tests.people import enrol

EMAIL, PASSWORD = "ada@example.com", "correct horse battery"


def test_keys_of_a_suspended_account_are_refused_until_it_is_resumed(account: Account) -> None:
    _, key = ApiKey.issue(account, "ci")
    account.suspend()
    assert factories.owner(key) is None
    assert factories.is_suspended(key)
    account.resume()
    assert factories.owner(key) == account
    assert not factories.is_suspended(key)


def test_only_a_valid_key_reveals_that_its_account_is_suspended(account: Account) -> None:
    row, key = ApiKey.issue(account, "ci")
    account.suspend()
    assert not factories.is_suspended(f"{key[:-1]}-")
    row.revoke()
    assert not factories.is_suspended(key)


def test_users_of_a_suspended_account_are_refused_until_it_is_resumed(account: Account) -> None:
    token = UserSession.begin(enrol(account, EMAIL, PASSWORD))
    account.suspend()
    assert not User.authenticate(EMAIL, PASSWORD)
    assert UserSession.resume(token) is None
    account.resume()
    assert User.authenticate(EMAIL, PASSWORD)
    assert UserSession.resume(token) is not None


def test_other_accounts_keep_working(account: Account) -> None:
    _, key = ApiKey.issue(account, "ci")
    Account.open("Other", "pro").suspend()
    assert factories.owner(key) == account


def test_an_account_stays_suspended_since_the_first_time(account: Account, clock: Clock) -> None:
    first = clock.at
    account.suspend()
    clock.advance(minutes=1)
    Account.get_by_id(account.id).suspend()
    assert Account.get_by_id(account.id).suspended_at == first


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ok", "x" * 41], rf" {'x' * 40}\.\.\. .*\b41 .*\b40\b"),
        ([str(number) for number in range(21)], r"\b21 .*\b20\b"),
        (["ok", " "], r"\bblank\b"),
        (["stop, please"], "'stop, please' "),
        (["a\u2028b"], r"'a\\u2028b' "),
    ],
)
def test_words_out_of_bounds_are_refused(account: Account, words: list[str], said: str) -> None:
    account.set_opt_words(stop=["stop"], start=["start"])
    for given in ({"stop": words, "start": []}, {"stop": [], "start": words}):
        with pytest.raises(ValueError, match=said):
            account.set_opt_words(**given)
    kept = Account.get_by_id(account.id)
    assert (kept.stop_words, kept.start_words) == (["stop"], ["start"])


def test_words_are_kept_once_each_whatever_their_case(account: Account) -> None:
    account.set_opt_words(stop=[" STOP ", "stop", "x" * 40], start=[])
    assert Account.get_by_id(account.id).stop_words == ["stop", "x" * 40]
