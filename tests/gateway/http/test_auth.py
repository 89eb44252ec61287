"""Who asks, as the edge finds out."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from starlette.types import Scope

from gateway.http.auth import STATE_KEY, identify, identify_at_once, why
from models.account import Account
from models.api_key import ApiKey
from models.database import writing
from tests.asgi import http_scope
from tests.conftest import Clock

WAIT_SECONDS = 10


def _in_a_thread(scope: Scope) -> Account | None:
    return identify(scope)


def _on_the_loop(scope: Scope) -> Account | None:
    account, user = asyncio.run(identify_at_once(scope))
    assert user is None
    return account


Identify = Callable[[str], Account | None]


@pytest.fixture(params=[_in_a_thread, _on_the_loop])
def identified(request: pytest.FixtureRequest) -> Identify:
    """Whose key it is, by either way, and the edge's other layers know it."""

    def ask(key: str) -> Account | None:
        scope = http_scope(headers={"Authorization": f"Bearer {key}"})
        account: Account | None = request.param(scope)
        assert scope[STATE_KEY] == account
        return account

    return ask


@contextmanager
def _writer_under_way() -> Iterator[None]:
    """A write transaction of another thread, for a while."""
    begun, enough = threading.Event(), threading.Event()

    def write() -> None:
        with writing():
            begun.set()
            enough.wait(WAIT_SECONDS)

    thread = threading.Thread(target=write)
    thread.start()
    assert begun.wait(WAIT_SECONDS)
    try:
        yield
    finally:
        enough.set()
        thread.join()


def test_a_key_opens_its_account_until_the_moment_it_is_revoked(
    account: Account, identified: Identify
) -> None:
    row, key = ApiKey.issue(account, "ci")
    assert [identified(key), identified("mk_live_wrong")] == [account, None]
    ApiKey.revoke(row.id)
    assert identified(key) is None


def test_the_owner_of_a_valid_key_is_told_that_the_account_is_suspended(account: Account) -> None:
    _, key = ApiKey.issue(account, "ci")
    account.suspend()
    for given, is_told in ((key, True), (f"{key[:-1]}-", False)):
        for ask in (_in_a_thread, _on_the_loop):
            scope = http_scope(headers={"Authorization": f"Bearer {given}"})
            assert ask(scope) is None
            assert ("suspended" in why(scope)) == is_told


def test_the_first_use_of_a_key_and_one_after_an_hour_are_noted(
    account: Account, clock: Clock, identified: Identify
) -> None:
    row, key = ApiKey.issue(account, "ci")
    first = clock.at
    identified(key)
    clock.advance(minutes=59)
    identified(key)
    assert ApiKey.get_by_id(row.id).last_used_at == first
    clock.advance(minutes=1)
    identified(key)
    assert ApiKey.get_by_id(row.id).last_used_at == clock.at


def test_a_writer_holds_no_request_up_whose_use_is_not_noted(
    account: Account, identified: Identify
) -> None:
    _, key = ApiKey.issue(account, "ci")
    identified(key)
    with _writer_under_way():
        assert identified(key) == account


def test_a_use_that_waits_for_a_writer_leaves_the_event_loop_to_others(account: Account) -> None:
    _, key = ApiKey.issue(account, "ci")
    scope = http_scope(headers={"Authorization": f"Bearer {key}"})

    async def run() -> Account | None:
        with _writer_under_way():
            identified = asyncio.ensure_future(identify_at_once(scope))
            # Another task has its turns while the use is not noted.
            for _ in range(100):
                await asyncio.sleep(0)
            assert not identified.done()
        return (await identified)[0]

    assert asyncio.run(run()) == account
