"""Both clients behind one blocking form, so that each test runs with both."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Any, Protocol

from messaging_gateway_client import AsyncClient, AsyncDownload, Client


class Driver(Protocol):
    """Calls a client."""

    def call(
        self, url: str, operation: str, *values: Any, options: Any = None, **named: Any
    ) -> Any:
        """Return what a method returns, or the body if it is read in pieces."""

    def take(self, url: str, operation: str, count: int, *values: Any, **named: Any) -> list[Any]:
        """The first items of an iterator."""


class Blocking:
    """The blocking client."""

    def call(
        self, url: str, operation: str, *values: Any, options: Any = None, **named: Any
    ) -> Any:
        with Client(url, "mk_live_key", **(options or {})) as client:
            found = getattr(client, operation)(*values, **named)
            if hasattr(found, "content_type"):
                with found as download:
                    return download.read()
            return found

    def take(self, url: str, operation: str, count: int, *values: Any, **named: Any) -> list[Any]:
        with Client(url, "mk_live_key") as client:
            items: Iterator[Any] = getattr(client, operation)(*values, **named)
            return list(islice(items, count))


class Asyncio:
    """The client for asyncio."""

    def call(
        self, url: str, operation: str, *values: Any, options: Any = None, **named: Any
    ) -> Any:
        async def run() -> Any:
            async with AsyncClient(url, "mk_live_key", **(options or {})) as client:
                found = await getattr(client, operation)(*values, **named)
                if isinstance(found, AsyncDownload):
                    async with found as download:
                        return await download.read()
                return found

        return asyncio.run(run())

    def take(self, url: str, operation: str, count: int, *values: Any, **named: Any) -> list[Any]:
        async def run() -> list[Any]:
            async with AsyncClient(url, "mk_live_key") as client:
                items: AsyncIterator[Any] = getattr(client, operation)(*values, **named)
                found: list[Any] = []
                async for item in items:
                    found.append(item)
                    if len(found) == count:
                        break
                return found

        return asyncio.run(run())


DRIVERS: list[Callable[[], Driver]] = [Blocking, Asyncio]
