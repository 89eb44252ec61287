"""Callers at the edge: who they are, and when they are looked up in a thread."""

import asyncio
import threading
import time
from functools import partial
from operator import add

import pytest
from peewee import OperationalError

from dashboard.cookies import SESSION, cookie_name
from gateway.api.app import build_app
from gateway.http import admission
from gateway.http.admission import (
    CALLER,
    FRESH_SECONDS,
    NOBODY,
    Admission,
    Caller,
    RateLimiter,
    credentials_of,
    identify,
    session_of,
)
from gateway.settings import ANONYMOUS
from models import clock
from models.accounts.account import Account, ApiKey
from models.accounts.user_session import UserSession
from models.database import answers_at_once
from services.telemetry import request_fields
from tests import factories
from tests.another_writer import another_writer
from tests.asgi import PLANS, ask, http_scope
from tests.conftest import Clock, Configure
from tests.people import enrol


def _identified(key: str) -> Account | None:
    """The account of the key. Its use is recorded in the background, if there is time."""

    async def ask() -> Account | None:
        request_fields.set({})
        scope = http_scope(headers={"Authorization": f"Bearer {key}"})
        await Admission(RateLimiter(PLANS)).admit(scope, clock.now(), is_metered=True)
        caller: Caller = scope[CALLER]
        # All lines of the log that follow name the account.
        named = {}
        if caller.account and caller.key:
            named = {"account_id": caller.account.id, "key_id": caller.key.id}
        assert request_fields.get() == named
        await asyncio.wait(
            asyncio.all_tasks() - {asyncio.current_task()} or {_nothing()}, timeout=0.3
        )
        return caller.account

    return asyncio.run(ask())


def _nothing() -> asyncio.Task[None]:
    return asyncio.create_task(asyncio.sleep(0))


def test_a_key_opens_its_account_until_the_moment_it_is_revoked(account: Account) -> None:
    row, key = ApiKey.issue(account, "ci")
    assert [_identified(key), _identified("mk_live_wrong")] == [account, None]
    row.revoke()
    assert _identified(key) is None


def test_without_an_account_the_address_of_the_client_counts() -> None:
    assert NOBODY.counted(("203.0.113.5", 4711)) == (ANONYMOUS, "203.0.113.5")
    assert NOBODY.counted(None) == (ANONYMOUS, "unknown")


def test_only_a_valid_key_gets_the_error_of_a_suspended_account(account: Account) -> None:
    _, key = ApiKey.issue(account, "ci")
    account.suspend()
    for given, is_told in ((key, True), (f"{key[:-1]}-", False)):
        assert factories.owner(given) is None
        assert factories.is_suspended(given) == is_told


def test_the_first_use_of_a_key_and_one_after_an_hour_are_noted(
    account: Account, clock: Clock
) -> None:
    row, key = ApiKey.issue(account, "ci")
    first = clock.at
    _identified(key)
    clock.advance(minutes=59)
    _identified(key)
    assert ApiKey.get_by_id(row.id).last_used_at == first
    clock.advance(minutes=1)
    _identified(key)
    assert ApiKey.get_by_id(row.id).last_used_at == clock.at


def test_a_writer_holds_no_request_up(account: Account) -> None:
    row, key = ApiKey.issue(account, "ci")
    with another_writer():
        assert _identified(key) == account
        assert ApiKey.get_by_id(row.id).last_used_at is None


def test_a_failure_to_record_the_last_use_fails_no_request(
    account: Account,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = OperationalError("disk full")

    def fail(_key: ApiKey) -> None:
        raise error

    monkeypatch.setattr(ApiKey, "note_use", fail)
    row, key = ApiKey.issue(account, "ci")
    assert _identified(key) == account
    assert [(r.levelname, r.args) for r in caplog.records] == [("WARNING", (row.id, error))]


def test_log_lines_name_the_account_and_the_signed_in_user(account: Account) -> None:
    user = enrol(account, "ada@example.com", "a long password")
    session = UserSession.begin(user)
    cookie = {"Cookie": f"{cookie_name(SESSION)}={session}"}
    given = credentials_of(http_scope(path="/dashboard/", headers=cookie))
    token = request_fields.set({})
    identify(*given, clock.now())
    assert request_fields.get() == {"account_id": account.id, "user_id": user.id}
    request_fields.reset(token)
    assert credentials_of(http_scope(path="/api/numbers", headers=cookie)) == (None, None)


def test_a_page_looks_its_session_up_once(
    configure: Configure, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = UserSession.begin(enrol(account, "ada@example.com", "a long password"))
    resumed: list[str] = []

    def resume(token: str) -> UserSession | None:
        resumed.append(token)
        return look_up(token)

    look_up = UserSession.resume
    monkeypatch.setattr(UserSession, "resume", resume)
    cookie = {"Host": "127.0.0.1", "Cookie": f"{cookie_name(SESSION)}={token}"}
    answered = ask(build_app(configure()), http_scope(path="/dashboard/keys", headers=cookie))
    assert answered is not None
    assert answered.status == 200
    assert resumed == [token]


def test_a_session_that_ended_while_the_body_came_is_refused(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = UserSession.begin(enrol(account, "ada@example.com", "a long password"))
    cookie = {"Cookie": f"{cookie_name(SESSION)}={token}"}
    scope = http_scope("POST", "/dashboard/keys", headers=cookie)
    scope[CALLER] = identify(*credentials_of(scope), clock.now())
    assert session_of({"asgi.scope": scope}) is scope[CALLER].session
    monkeypatch.setattr("time.monotonic", partial(add, time.monotonic(), FRESH_SECONDS))
    found = session_of({"asgi.scope": scope})
    assert found is not None
    assert found is not scope[CALLER].session
    UserSession.end(token)
    assert session_of({"asgi.scope": scope}) is None


KEY = {"Authorization": "Bearer mk_live_some"}
SESSION_COOKIE = {"Cookie": f"{cookie_name(SESSION)}=some"}


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    ("headers", "is_metered", "is_shared", "waits"),
    [
        ({}, True, False, False),
        (KEY, True, False, None),
        (SESSION_COOKIE, False, False, True),
        ({}, True, True, True),
        ({}, False, True, False),
    ],
    ids=["anonymous", "key", "session", "Redis", "Redis, not metered"],
)
def test_only_a_caller_that_is_waited_for_takes_a_thread(
    monkeypatch: pytest.MonkeyPatch,
    headers: dict[str, str],
    *,
    is_metered: bool,
    is_shared: bool,
    waits: bool | None,
) -> None:
    seen: list[threading.Thread] = []

    def identify(*_: object) -> Caller:
        seen.append(threading.current_thread())
        return NOBODY

    monkeypatch.setattr(admission, "identify", identify)
    limiter = RateLimiter(PLANS)
    limiter.answers_at_once = not is_shared
    scope = http_scope(path="/dashboard/", headers=headers)
    asyncio.run(Admission(limiter).admit(scope, clock.now(), is_metered=is_metered))
    # A key is looked up at once in a file of this machine.
    expected = not answers_at_once() if waits is None else waits
    assert (seen[0] is not threading.current_thread()) == expected
