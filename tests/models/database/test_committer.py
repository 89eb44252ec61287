"""Work with keys, for callers on an event loop: what waits shares a transaction, and nothing else."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from peewee import OperationalError
from psycopg.errors import LockNotAvailable

from models import clock, database
from models.accounts.account import Account
from models.database import UnsureError, answers_at_once, postgresql, write, writing
from models.database.committer import Committer, Job
from tests.another_writer import another_writer

pytestmark = pytest.mark.usefixtures("state")
Work = Callable[[], Any]
NAMES = ["A", "B", "C", "D"]


def _store(name: str) -> None:
    Account.create(id=clock.new_id("acc"), name=name, plan="pro", created_at=clock.now())


def _names() -> list[str]:
    return sorted(account.name for account in Account.all())


class Jobs:
    """Jobs that wait at the same time, each with its name as its key."""

    def __init__(self) -> None:
        self.runs = Counter[str]()

    def _job(self, name: str, work: Callable[[str], Any]) -> Work:
        def run() -> Any:
            self.runs[name] += 1
            return work(name)

        return lambda: write(run, name)

    async def _results(self, works: dict[str, Callable[[str], Any]]) -> list[Any]:
        jobs = [database.commit(self._job(name, work), name) for name, work in works.items()]
        return await asyncio.gather(*jobs, return_exceptions=True)

    def results(self, **works: Callable[[str], Any]) -> list[Any]:
        """Their results, or errors."""

        async def gathered() -> list[Any]:
            with another_writer():
                # It takes the thread until the others wait.
                first = asyncio.create_task(self._results({"first": lambda _: None}))
                await asyncio.sleep(0.1)
                waiting = asyncio.create_task(self._results(works))
                await asyncio.sleep(0.1)
            await first
            return await waiting

        return asyncio.run(gathered())


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """An item for each commit."""
    found = list[None]()
    commit = database.database.obj.commit

    def count() -> None:
        commit()
        found.append(None)

    monkeypatch.setattr(database.database.obj, "commit", count)
    return found


# The other writer, the first job, and those that waited.
TOGETHER = 3


def test_what_waits_shares_a_transaction(jobs: Jobs, commits: list[None]) -> None:
    assert jobs.results(**dict.fromkeys(NAMES, _store)) == [None] * 4
    assert (_names(), len(commits)) == (NAMES, TOGETHER)


@pytest.mark.parametrize("limit", [("MOST_SECONDS", -1), ("MOST_KEYS", 1)])
def test_what_has_no_time_or_too_many_keys_goes_into_the_next_transaction(
    jobs: Jobs, commits: list[None], monkeypatch: pytest.MonkeyPatch, limit: tuple[str, int]
) -> None:
    monkeypatch.setattr(postgresql, *limit)
    assert jobs.results(**dict.fromkeys(NAMES, _store)) == [None] * 4
    assert {*jobs.runs.values()} == {1}
    assert (_names(), len(commits)) == (NAMES, TOGETHER + (0 if answers_at_once() else 3))


def test_after_a_wait_for_a_lock_that_was_too_long_no_other_work_waits_as_long(jobs: Jobs) -> None:
    def wait(name: str) -> None:
        _store(name)
        raise OperationalError(name) from LockNotAvailable(name)

    results = jobs.results(A=_store, B=wait, C=_store)
    # On SQLite it is an error like others: its own one is a BusyError.
    left = ["None", "B", "None"] if answers_at_once() else ["B"] * 3
    assert [str(result) for result in results] == left
    assert _names() == (["A", "C"] if answers_at_once() else [])


def test_what_had_no_time_gets_no_error_of_the_others(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "MOST_SECONDS", -1)

    def lose(name: str) -> None:
        raise UnsureError(name, is_silent=False)

    results = jobs.results(A=lose, B=_store, C=_store)
    assert [str(result) for result in results] == ["A", "None", "None"]
    assert _names() == ["B", "C"]


def test_an_error_before_the_first_change_disturbs_nothing(jobs: Jobs, commits: list[None]) -> None:
    def refuse(name: str) -> None:
        assert Account.by_id(name) is None
        raise ValueError(name)

    results = jobs.results(A=_store, B=refuse, C=_store)
    assert [str(result) for result in results] == ["None", "B", "None"]
    assert (_names(), len(commits)) == (["A", "C"], TOGETHER)
    assert jobs.runs["A"] == 1


def test_what_fails_after_a_change_leaves_nothing_and_the_others_run_again(jobs: Jobs) -> None:
    def fail(name: str) -> None:
        _store(name)
        raise ValueError(name)

    results = jobs.results(A=_store, B=fail, C=_store)
    assert [str(result) for result in results] == ["None", "B", "None"]
    assert _names() == ["A", "C"]


def test_a_statement_that_fails_later_leaves_nothing_of_its_work(jobs: Jobs) -> None:
    def fail(name: str) -> None:
        # On PostgreSQL both are sent with the commit, or with a read of another job.
        for _ in range(2):
            Account.create(id="acc_same", name=name, plan="pro", created_at=0)

    first, failed, last = jobs.results(A=_store, B=fail, C=_store)
    assert (first, last) == (None, None)
    assert "acc" in str(failed).lower()
    assert _names() == ["A", "C"]


def test_what_needs_to_be_exclusive_leaves_the_others(jobs: Jobs, commits: list[None]) -> None:
    def exclude(name: str) -> None:
        with writing():
            _store(name)

    assert jobs.results(A=_store, B=exclude, C=_store, D=exclude) == [None] * 4
    assert _names() == NAMES
    assert (jobs.runs["A"], jobs.runs["C"]) == (1, 1)
    # Two are alone on PostgreSQL. SQLite has no transaction that is not exclusive.
    assert len(commits) == TOGETHER + (0 if answers_at_once() else 2)


def test_what_needs_to_be_exclusive_after_a_change_leaves_the_others_too(jobs: Jobs) -> None:
    def exclude(name: str) -> None:
        _store(name)
        with writing():
            assert Account.by_id(name) is None

    assert jobs.results(A=_store, B=exclude, C=_store, D=exclude) == [None] * 4
    assert _names() == NAMES


def test_what_jobs_write_at_the_end_is_written_together_without_that_of_failed_ones(
    jobs: Jobs,
) -> None:
    writes = list[list[str]]()

    def write(names: Sequence[str]) -> None:
        writes.append([*names])
        for name in names:
            _store(name)

    def note(name: str) -> None:
        database.at_end(write, name)

    def fail(name: str) -> None:
        if not answers_at_once():
            note(name)
        raise ValueError(name)

    jobs.results(A=note, B=fail, C=note)
    # SQLite has one writer, so that no transactions wait for rows of each other.
    assert writes == ([["A"], ["C"]] if answers_at_once() else [["A", "C"]])
    assert _names() == ["A", "C"]


def test_a_thread_that_commits_goes_on_after_an_error_of_its_own() -> None:
    def commit(jobs: Sequence[Job]) -> None:
        for job in jobs:
            job.run()
            job.finish()

    def fail() -> None:
        raise RuntimeError("no thread")

    async def run() -> list[Any]:
        committer = Committer(commit)
        try:
            return [
                await asyncio.gather(committer.run(each), return_exceptions=True)
                for each in (fail, int)
            ]
        finally:
            committer.stop()

    [[error], [result]] = asyncio.run(run())
    assert (str(error), result) == ("no thread", None)


def _run(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.result = job.run()
        job.finish()


def test_the_first_two_callers_start_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    started = list[str]()
    start = threading.Thread.start

    def start_slowly(thread: threading.Thread) -> None:
        if thread.name == "writer":
            started.append(thread.name)
            time.sleep(0.1)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_slowly)
    committer = Committer(_run)

    async def call() -> int:
        return await committer.run(int)

    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(asyncio.run, call()) for _ in range(2)]
        assert [each.result() for each in calls] == [0, 0]
    committer.stop()
    assert started == ["writer"]


def test_what_gets_no_thread_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = list[int]()
    start = threading.Thread.start

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("no thread")

    async def run() -> None:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            await committer.run(lambda: ran.append(1))
        monkeypatch.setattr(threading.Thread, "start", start)
        await committer.run(lambda: ran.append(2))

    committer = Committer(_run)
    asyncio.run(run())
    committer.stop()
    assert ran == [2]


def test_a_query_that_fails_disturbs_nothing(jobs: Jobs) -> None:
    def fail(_: str) -> None:
        database.database.execute_sql("SELECT nothing").fetchall()

    first, failed, last = jobs.results(A=_store, B=fail, C=_store)
    assert (first, last) == (None, None)
    assert "nothing" in str(failed)
    assert _names() == ["A", "C"]
