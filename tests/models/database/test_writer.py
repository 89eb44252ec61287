"""Database work for callers on an event loop: batched, isolated and atomic."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
from peewee import OperationalError

from contract_tests.waiting import wait_for
from models import database
from models.accounts.account import Account
from models.database import writing
from tests.another_writer import another_writer

pytestmark = pytest.mark.usefixtures("state")


def _open(name: str) -> Callable[[], Account]:
    return lambda: Account.open(name, "pro")


def _names() -> set[str]:
    return {account.name for account in Account.all()}


async def _all(*work: Callable[[], Any]) -> list[Any]:
    return await asyncio.gather(*map(database.commit, work), return_exceptions=True)


async def _gathered(*work: Callable[[], Any]) -> list[Any]:
    """The results of jobs queued at the same time."""
    with another_writer():
        waiting = asyncio.create_task(_all(*work))
        await asyncio.sleep(0.1)
    return await waiting


def test_each_caller_gets_the_result_of_its_own_work() -> None:
    results = asyncio.run(_gathered(*(_open(f"account {i}") for i in range(100))))
    assert [account.name for account in results] == [f"account {i}" for i in range(100)]
    assert len(_names()) == 100


def test_only_the_failed_work_of_a_batch_is_rolled_back() -> None:
    def fail() -> None:
        with writing():
            Account.open("half", "pro")
            raise ValueError("no")

    first, failed, last = asyncio.run(_gathered(_open("first"), fail, _open("last")))
    assert (first.name, last.name) == ("first", "last")
    assert isinstance(failed, ValueError)
    assert _names() == {"first", "last"}


@pytest.mark.sqlite("its own way to fail")
def test_if_sqlite_rolls_back_the_whole_batch_each_work_is_retried_alone() -> None:
    def fill_the_disk() -> None:
        Account.open("x" * 200_000, "pro")

    def limit(pages: int) -> None:
        with writing():
            database.database.execute_sql(f"PRAGMA max_page_count = {pages}")

    [[used]] = database.database.execute_sql("PRAGMA page_count").fetchall()
    limit(used + 5)
    try:
        first, failed, last = asyncio.run(_gathered(_open("first"), fill_the_disk, _open("last")))
    finally:
        limit(1_000_000)
    assert (first.name, last.name) == ("first", "last")
    assert isinstance(failed, OperationalError)
    assert _names() == {"first", "last"}


def test_work_continues_after_its_caller_was_cancelled() -> None:
    async def run() -> None:
        with another_writer():
            caller = asyncio.create_task(database.commit(_open("kept")))
            await asyncio.sleep(0.1)
            caller.cancel()
        await database.commit(_open("next"))

    asyncio.run(run())
    # On PostgreSQL the two transactions end in any order.
    wait_for(lambda: _names() == {"kept", "next"}, "both accounts")


def test_the_event_loop_is_not_blocked() -> None:
    async def run() -> int:
        turns = 0
        with another_writer():
            waiting = asyncio.create_task(database.commit(_open("late")))
            while turns < 100:
                await asyncio.sleep(0)
                turns += 1
            assert not waiting.done()
        await waiting
        return turns

    assert asyncio.run(run()) == 100


def test_work_has_the_context_of_its_request() -> None:
    request: ContextVar[str] = ContextVar("request", default="none")

    async def run() -> str:
        request.set("req_1")
        return await database.commit(request.get)

    assert asyncio.run(run()) == "req_1"
