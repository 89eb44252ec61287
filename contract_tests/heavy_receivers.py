"""Receivers of a heavy load's events: a quick one, a slow one, and somebody else's server."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from contract_tests.waiting import HOST

MEBIBYTE = 1024 * 1024
# Within the ten seconds of an attempt.
SLOW_SECONDS = 8
POSTS = "posts to a stranger"


@asynccontextmanager
async def _served(
    answer: Callable[[web.BaseRequest], Awaitable[web.Response]],
) -> AsyncIterator[str]:
    """The URL of a server with these answers."""
    # Those that still wait are cancelled.
    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, 0)
        await site.start()
        _, port = runner.addresses[0]
        yield f"http://{HOST}:{port}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def quick() -> AsyncIterator[str]:
    """A receiver that responds at once."""

    async def answer(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response()

    async with _served(answer) as url:
        yield url


@asynccontextmanager
async def slow() -> AsyncIterator[str]:
    """A receiver that reads large bodies late, and responds at the last moment."""

    async def answer(request: web.BaseRequest) -> web.Response:
        is_large = (request.content_length or 0) > MEBIBYTE // 32
        await asyncio.sleep(SLOW_SECONDS * is_large)
        await request.read()
        return web.Response()

    async with _served(answer) as url:
        yield url


@asynccontextmanager
async def stranger(counts: Counter[str]) -> AsyncIterator[str]:
    """A server that knows none of the URLs. Counts the requests."""

    async def answer(request: web.BaseRequest) -> web.Response:
        counts[POSTS] += 1
        await request.read()
        return web.Response(status=404)

    async with _served(answer) as url:
        yield url
