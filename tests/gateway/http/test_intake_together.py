"""Callbacks that come in quick succession are stored together (docs/decisions/0036)."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence

import pytest

from gateway.http import intake
from gateway.http.intake import Together

WAIT_SECONDS = 10
LONG = 3600.0


class _Store:
    """Notes what it was given at once. Each time waits until it may end, except while ``open``."""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []
        self.open = threading.Event()
        self.begun = threading.Semaphore(0)
        self.failure: Exception | None = None

    def __call__(self, bodies: Sequence[bytes]) -> None:
        self.batches.append(list(bodies))
        self.begun.release()
        assert self.open.wait(WAIT_SECONDS)
        if self.failure is not None:
            raise self.failure

    async def has_begun(self) -> None:
        """Return once it works on the next batch."""
        assert await asyncio.to_thread(self.begun.acquire, timeout=WAIT_SECONDS)


Test = Callable[[_Store, Together], Awaitable[None]]


def _run(test: Test) -> list[list[bytes]]:
    store = _Store()

    async def run() -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            await test(store, Together(store))

    asyncio.run(run())
    return store.batches


def _add(together: Together, *bodies: bytes) -> "list[asyncio.Task[None]]":
    return [asyncio.create_task(together.add(body)) for body in bodies]


def test_the_first_goes_at_once_and_what_comes_meanwhile_goes_together() -> None:
    async def test(store: _Store, together: Together) -> None:
        first = _add(together, b"1")
        await store.has_begun()
        more = _add(together, b"2", b"3", b"4")
        await asyncio.sleep(0)
        assert not any(each.done() for each in (*first, *more))
        store.open.set()
        await asyncio.gather(*first, *more)

    assert _run(test) == [[b"1"], [b"2", b"3", b"4"]]


def test_what_comes_soon_after_waits_for_company(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "PAUSE_SECONDS", 0.1)

    async def test(store: _Store, together: Together) -> None:
        store.open.set()
        await together.add(b"1")
        two = _add(together, b"2")
        await asyncio.sleep(0.01)
        await asyncio.gather(*two, *_add(together, b"3"))
        # Behind a pause that brought nothing, the next one goes at once again.
        await asyncio.sleep(0.2)
        monkeypatch.setattr(intake, "PAUSE_SECONDS", LONG)
        await together.add(b"4")

    assert _run(test) == [[b"1"], [b"2", b"3"], [b"4"]]


def test_enough_of_them_do_not_wait_any_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "PAUSE_SECONDS", LONG)
    monkeypatch.setattr(intake, "ENOUGH", 3)

    async def test(store: _Store, together: Together) -> None:
        store.open.set()
        await together.add(b"1")
        await asyncio.gather(*_add(together, b"2", b"3", b"4"))

    assert _run(test) == [[b"1"], [b"2", b"3", b"4"]]


def test_no_transaction_gets_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(intake, "MOST", 3)
    monkeypatch.setattr(intake, "MOST_BYTES", 4)

    async def test(store: _Store, together: Together) -> None:
        first = _add(together, b"1")
        await store.has_begun()
        more = _add(together, b"2", b"3", b"4", b"5", b"66", b"7", b"88888", b"9")
        await asyncio.sleep(0)
        store.open.set()
        await asyncio.gather(*first, *more)

    assert _run(test) == [[b"1"], [b"2", b"3", b"4"], [b"5", b"66", b"7"], [b"88888"], [b"9"]]


def test_what_fails_is_told_to_all_of_them_and_to_no_other() -> None:
    async def test(store: _Store, together: Together) -> None:
        first = _add(together, b"1")
        await store.has_begun()
        more = _add(together, b"2", b"3")
        await asyncio.sleep(0)
        store.failure = OSError("no room")
        store.open.set()
        told = await asyncio.gather(*first, *more, return_exceptions=True)
        assert list(map(str, told)) == ["no room"] * 3
        store.failure = None
        await together.add(b"4")

    assert _run(test) == [[b"1"], [b"2", b"3"], [b"4"]]


def test_one_whose_client_has_gone_leaves_the_others_alone() -> None:
    async def test(store: _Store, together: Together) -> None:
        [gone] = _add(together, b"1")
        await store.has_begun()
        [stays] = _add(together, b"2")
        await asyncio.sleep(0)
        gone.cancel()
        store.open.set()
        await stays
        assert gone.cancelled()

    assert _run(test) == [[b"1"], [b"2"]]
