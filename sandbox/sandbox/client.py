"""The HTTP client that reaches callback URLs."""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache

import aiohttp
from yarl import URL

from sandbox import clock
from sandbox.callback_log import Attempt, Counters
from sandbox.settings import Settings
from sandbox.signing import signature

# More open sockets than this exhaust the usual limit of file descriptors on a laptop.
MOST_IN_FLIGHT = 200
# Parsed once, not for each callback.
_parsed = lru_cache(maxsize=64)(URL)


class Client:
    """Makes attempts, with a limit of concurrent ones."""

    def __init__(self, settings: Settings, counters: Counters) -> None:
        self._secret = settings.app_secret
        self._timeout = settings.callback_timeout
        self._counters = counters
        self._session: aiohttp.ClientSession | None = None
        self._slots = asyncio.Semaphore(MOST_IN_FLIGHT)

    async def open(self) -> None:
        """Make the session; it belongs to the running event loop."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
            timeout=aiohttp.ClientTimeout(total=self._timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        """The session, for requests that are no callbacks."""
        if self._session is None:
            raise RuntimeError("the client is not open")
        return self._session

    async def attempt(self, url: str, body: bytes) -> Attempt:
        """POST these bytes with their signature. No failure is raised: the attempt tells it."""
        # Waiting for a slot happens outside the session, so that a queue here is never mistaken
        # for a slow receiver.
        async with self._slots:
            self._counters.attempts += 1
            self._counters.in_flight += 1
            try:
                attempt = await self._measured(url, body)
            finally:
                self._counters.in_flight -= 1
        self._counters.failed_attempts += not attempt.accepted
        if attempt.status is not None:
            self._counters.latencies.append(attempt.took)
        return attempt

    async def _measured(self, url: str, body: bytes) -> Attempt:
        at, started = clock.now(), time.perf_counter()
        status = error = None
        try:
            status = await self._post(url, body)
        except TimeoutError:
            error = "no response in time"
        except (aiohttp.ClientError, OSError) as failure:
            error = type(failure).__name__
        return Attempt(at, time.perf_counter() - started, status, error)

    async def _post(self, url: str, body: bytes) -> int:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "facebookexternalua",
            "X-Hub-Signature-256": signature(body, self._secret),
        }
        async with self.session.post(
            _parsed(url), data=body, headers=headers, allow_redirects=False
        ) as answer:
            # Read to the end: otherwise the connection cannot be reused.
            await answer.read()
            return answer.status
