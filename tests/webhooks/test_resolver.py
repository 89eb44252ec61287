"""Name look-ups: the hosts file, a real name server, and a silent one (ADR 12)."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

import pytest

from tests.webhooks.name_server import SERVER_FAILURE, NameServer
from webhooks.faults import MachineError
from webhooks.resolver import Resolver, UnresolvedError

T = TypeVar("T")


def _with(name_server: NameServer, use: Callable[[Resolver], Awaitable[T]]) -> T:
    async def run() -> T:
        async with aclosing(Resolver([name_server.address])) as resolver:
            return await use(resolver)

    return asyncio.run(run())


def test_all_addresses_of_a_name_are_found(name_server: NameServer) -> None:
    known = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111"]
    name_server.know("hook.example", known)
    assert sorted(_with(name_server, lambda r: r.look_up("hook.example"))) == sorted(known)


def test_names_of_the_hosts_file_are_found_without_a_question(name_server: NameServer) -> None:
    assert "127.0.0.1" in _with(name_server, lambda r: r.look_up("localhost"))
    assert name_server.asked == []


@pytest.mark.parametrize(
    "host", ["nothing.example", "", ".", "a" * 64, "no..name", "a\0b", "\udc80", "b" * 300]
)
def test_what_has_no_address_is_an_error(name_server: NameServer, host: str) -> None:
    with pytest.raises(UnresolvedError):
        _with(name_server, lambda r: r.look_up(host))


def test_a_look_up_that_was_cut_off_leaves_the_next_one_alone(name_server: NameServer) -> None:
    name_server.mute("slow.example")
    name_server.know("fast.example", ["8.8.8.8"])

    async def use(resolver: Resolver) -> list[str]:
        slow = asyncio.create_task(resolver.look_up("slow.example"))
        await asyncio.to_thread(name_server.wait, 1)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        return await resolver.look_up("fast.example")

    assert _with(name_server, use) == ["8.8.8.8"]


def test_look_ups_that_hang_share_no_pool_of_threads(name_server: NameServer) -> None:
    """One thread of the library serves all look-ups, so the event loop's small pool stays free."""
    names = [f"slow-{i}.example" for i in range(50)]
    for name in names:
        name_server.mute(name)

    async def use(resolver: Resolver) -> int:
        before = threading.active_count()
        tasks = [asyncio.create_task(resolver.look_up(name)) for name in names]
        await asyncio.sleep(0)
        name_server.wait(len(names))
        after = threading.active_count()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return after - before

    assert _with(name_server, use) <= 1


def test_look_ups_that_are_refused_together_share_the_check(name_server: NameServer) -> None:
    name_server.refused = SERVER_FAILURE

    async def use(resolver: Resolver) -> list[object]:
        look_ups = (resolver.look_up(f"hook-{i}.example") for i in range(50))
        return list(await asyncio.gather(*look_ups, return_exceptions=True))

    assert {type(error) for error in _with(name_server, use)} == {MachineError}
    assert len([name for name, _ in name_server.asked if name == "example"]) < 50
