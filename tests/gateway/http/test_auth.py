"""Who asks, as the edge finds out."""

import asyncio
from collections.abc import Callable

import pytest
from peewee import OperationalError
from starlette.concurrency import run_in_threadpool
from starlette.types import Scope

from gateway.http.auth import STATE_KEY, identify, identify_at_once, note_use, why
from models.account import Account
from models.api_key import ApiKey
from tests.another_writer import another_writer
from tests.asgi import http_scope
from tests.conftest import Clock


async def _in_a_thread(scope: Scope) -> Account | None:
    return await run_in_threadpool(identify, scope)


async def _on_the_loop(scope: Scope) -> Account | None:
    account, user = await identify_at_once(scope)
    assert user is None
    return account


Identify = Callable[[str], Account | None]


@pytest.fixture(params=[_in_a_thread, _on_the_loop])
def identified(request: pytest.FixtureRequest) -> Identify:
    """Whose key it is, by either way, and the edge's other layers know it. Its use is noted meanwhile."""

    async def ask(key: str) -> Account | None:
        scope = http_scope(headers={"Authorization": f"Bearer {key}"})
        account: Account | None = await request.param(scope)
        assert scope[STATE_KEY] == account
        note_use(scope)
        await asyncio.wait(
            asyncio.all_tasks() - {asyncio.current_task()} or {_nothing()}, timeout=0.3
        )
        return account

    return lambda key: asyncio.run(ask(key))


def _nothing() -> asyncio.Task[None]:
    return asyncio.create_task(asyncio.sleep(0))


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
            assert asyncio.run(ask(scope)) is None
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


def test_a_writer_holds_no_request_up(account: Account, identified: Identify) -> None:
    row, key = ApiKey.issue(account, "ci")
    with another_writer():
        assert identified(key) == account
        assert ApiKey.get_by_id(row.id).last_used_at is None


def test_a_use_that_cannot_be_noted_fails_no_request(
    account: Account,
    identified: Identify,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_key: ApiKey) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(ApiKey, "note_use", fail)
    _, key = ApiKey.issue(account, "ci")
    assert identified(key) == account
    assert "is not noted: database or disk is full" in caplog.text
