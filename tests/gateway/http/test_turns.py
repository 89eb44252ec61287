"""Requests of one account in threads take turns. Others, and requests that wait for a host, do not."""

import asyncio
import inspect
import secrets
from collections.abc import Coroutine
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from gateway.api import contract
from gateway.api.app import handler_of
from gateway.api.operations import WAIT_FOR_OTHERS
from gateway.http.edge import LONG_BODY, TURNS
from models.accounts.account import Account, ApiKey
from models.accounts.user import Role
from models.accounts.user_session import UserSession
from tests.asgi import OPERATIONS, PLANS, Answered, ask_in_loop, edge_of, http_scope
from tests.people import member

pytestmark = pytest.mark.usefixtures("state")

LIST = "/api/messages"


class _Part:
    """An application whose requests run until the event is set, before or after their response begins."""

    def __init__(self, *, begins: bool = False) -> None:
        self.begun: list[Scope] = []
        self.has_begun = asyncio.Semaphore(0)
        self.may_end = asyncio.Event()
        self.is_crashing = False
        self._begins = begins

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        self.begun.append(scope)
        self.has_begun.release()
        if self.is_crashing:
            raise ZeroDivisionError
        start = {"type": "http.response.start", "status": 200, "headers": []}
        if self._begins:
            await send(start)
        await self.may_end.wait()
        if not self._begins:
            await send(start)
        await send({"type": "http.response.body", "body": b"x"})


Asked = Coroutine[Any, Any, Answered | None]


def _ask(
    edge: Any, account: Account, method: str = "GET", path: str = LIST, body: bytes = b""
) -> Asked:
    headers = {"Authorization": f"Bearer {ApiKey.issue(account, 'ci')[1]}"}
    if path.startswith("/dashboard/"):
        email = f"{secrets.token_hex(4)}@example.com"
        headers = {
            "Cookie": f"gateway_session={UserSession.begin(member(account, Role.OWNER, email))}"
        }
    return ask_in_loop(edge, http_scope(method, path, headers=headers), [body])


async def _until(part: _Part, count: int) -> None:
    """Wait until so many requests began, and give further ones time to begin."""
    async with asyncio.timeout(10):
        for _ in range(count):
            await part.has_begun.acquire()
    await asyncio.sleep(0.2)


async def _begun_at_once(part: _Part, *asked: Asked, at_least: int) -> int:
    """How many of these requests run at once. All get a response."""
    tasks = [asyncio.ensure_future(each) for each in asked]
    await _until(part, at_least)
    begun = len(part.begun)
    part.may_end.set()
    answers = await asyncio.gather(*tasks)
    assert [answer and answer.status for answer in answers] == [200] * len(asked)
    return begun


def test_lists_of_one_account_take_turns_and_those_of_another_do_not_wait(account: Account) -> None:
    async def run() -> None:
        part = _Part()
        edge = edge_of(part)
        asked = [_ask(edge, account) for _ in range(TURNS + 3)]
        asked.append(_ask(edge, Account.open("Other", "starter")))
        assert await _begun_at_once(part, *asked, at_least=TURNS + 1) == TURNS + 1

    asyncio.run(run())


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/messages/send"),
        ("GET", "/api/numbers/num_1/profile"),
        ("GET", "/api/messages/msg_1/media"),
    ],
)
def test_requests_that_may_wait_for_the_network_take_no_turns(
    account: Account, method: str, path: str
) -> None:
    async def run() -> None:
        part = _Part()
        edge = edge_of(part, transfers=99)
        asked = [_ask(edge, account, method, path) for _ in range(TURNS + 3)]
        assert await _begun_at_once(part, *asked, at_least=TURNS + 3) == TURNS + 3

    asyncio.run(run())


def test_sends_with_long_bodies_take_turns(account: Account) -> None:
    async def begun(size: int, at_least: int) -> int:
        part = _Part()
        edge = edge_of(part)
        asked = [
            _ask(edge, account, "POST", "/api/messages/send", b"x" * size) for _ in range(TURNS + 3)
        ]
        return await _begun_at_once(part, *asked, at_least=at_least)

    assert asyncio.run(begun(LONG_BODY, TURNS + 3)) == TURNS + 3
    assert asyncio.run(begun(LONG_BODY + 1, TURNS)) == TURNS


def test_a_send_with_a_long_body_holds_up_no_list(account: Account) -> None:
    """It may wait for the network."""

    async def run() -> None:
        part = _Part()
        edge, body = edge_of(part), b"x" * (LONG_BODY + 1)
        sends = (_ask(edge, account, "POST", "/api/messages/send", body) for _ in range(TURNS))
        asked = [*sends, _ask(edge, account)]
        assert await _begun_at_once(part, *asked, at_least=TURNS + 1) == TURNS + 1

    asyncio.run(run())


def test_a_client_that_reads_slowly_keeps_no_turn(account: Account) -> None:
    async def run() -> None:
        part = _Part(begins=True)
        edge = edge_of(part)
        asked = [_ask(edge, account) for _ in range(TURNS + 3)]
        assert await _begun_at_once(part, *asked, at_least=TURNS + 3) == TURNS + 3

    asyncio.run(run())


def test_each_part_of_a_response_is_made_in_a_turn(account: Account) -> None:
    """Otherwise many large lists of one account would be made at once."""
    now, most = 0, 0

    async def part(_scope: Scope, _receive: Receive, send: Send) -> None:
        nonlocal now, most
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(4):
            await send({"type": "http.response.body", "body": b"x", "more_body": number < 3})
            if number < 3:
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.01)
                now -= 1

    async def run() -> None:
        edge = edge_of(part)
        answers = await asyncio.gather(*(_ask(edge, account) for _ in range(TURNS + 3)))
        assert [answer and answer.body for answer in answers] == [b"xxxx"] * (TURNS + 3)

    asyncio.run(run())
    assert most == TURNS


def test_a_read_that_crashes_or_is_cancelled_ends_its_turn(account: Account) -> None:
    async def run() -> None:
        part = _Part()
        edge = edge_of(part)
        part.is_crashing = True
        for _ in range(TURNS):
            answer = await _ask(edge, account)
            assert answer is not None
            assert answer.status == 500
        await _until(part, TURNS)
        part.is_crashing = False
        tasks = [asyncio.ensure_future(_ask(edge, account)) for _ in range(TURNS + 1)]
        await _until(part, TURNS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        part.begun.clear()
        assert await _begun_at_once(part, _ask(edge, account), at_least=1) == 1

    asyncio.run(run())


def test_each_operation_without_turns_waits_for_others() -> None:
    for name, (route, _) in contract.operations().items():
        method, path = route.split()
        operation = OPERATIONS.route(http_scope(method, path.format_map(_Identifiers())))
        assert operation.by_turns == (name not in WAIT_FOR_OTHERS)
        # A handler that waits asynchronously keeps no thread.
        is_async = inspect.iscoroutinefunction(handler_of(name))
        wanted = f"add {name} to WAIT_FOR_OTHERS, or make its handler a plain function"
        assert not (operation.by_turns and is_async), wanted


class _Identifiers(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return f"{key}_1"


@pytest.mark.parametrize(("method", "at_once"), [("GET", TURNS), ("POST", TURNS + 3)])
def test_pages_take_turns_and_forms_do_not(account: Account, method: str, at_once: int) -> None:
    async def run() -> None:
        part = _Part()
        edge = edge_of(part, dict.fromkeys(PLANS, 99))
        asked = [_ask(edge, account, method, "/dashboard/") for _ in range(TURNS + 3)]
        assert await _begun_at_once(part, *asked, at_least=at_once) == at_once

    asyncio.run(run())
