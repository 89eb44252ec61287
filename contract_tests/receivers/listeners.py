"""A thousand receivers, each at its own port: ``with Listeners(1000) as receivers``."""

import asyncio
import resource
import threading
from collections import Counter
from concurrent.futures import Future
from typing import Self

from aiohttp import web

from contract_tests.waiting import HOST, START_SECONDS

# The time for a response. It makes many requests run at once.
RESPONSE_SECONDS = 0.05


class Listeners:
    """Receivers that answer 200, on an event loop in a thread."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._ready: Future[list[int]] = Future()
        self._ends = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._serve()])
        # The requests for each delivery. Read it when none runs.
        self.deliveries: Counter[str] = Counter()

    def __enter__(self) -> Self:
        """Listen. Each port is a descriptor, and so is each connection."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self._thread.start()
        self.urls = [f"http://{HOST}:{port}/hook" for port in self._ready.result(START_SECONDS)]
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._loop.call_soon_threadsafe(self._ends.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_post("/hook", self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        for _ in range(self._count):
            await web.TCPSite(runner, HOST, 0).start()
        self._ready.set_result([address[1] for address in runner.addresses])
        await self._ends.wait()
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(RESPONSE_SECONDS)
        self.deliveries[request.headers["X-Service-Delivery"]] += 1
        return web.Response(text="ok")
