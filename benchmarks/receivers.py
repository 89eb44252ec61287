"""Receivers for the benchmarks, in a process of their own: prints when each event arrived.

``/ok/N`` answers at once, ``/hang/N`` never, ``/slow/N`` after 9 s. ``GET /arrivals`` gives the time of
arrival (Unix seconds) of each event by its identifier, first arrival only.
"""

import asyncio
import json
import sys
import time

from aiohttp import web

SLOW_SECONDS = 9


def make_app() -> web.Application:
    """The receivers."""
    arrivals: dict[str, float] = {}

    async def receive(request: web.Request) -> web.Response:
        event = json.loads(await request.read())
        arrivals.setdefault(event["data"]["id"], time.time())
        kind = request.match_info["kind"]
        if kind == "hang":
            await asyncio.sleep(3600)
        if kind == "slow":
            await asyncio.sleep(SLOW_SECONDS)
        return web.Response()

    async def report(_request: web.Request) -> web.Response:
        return web.json_response(arrivals)

    app = web.Application()
    app.router.add_post("/{kind}/{number}", receive)
    app.router.add_get("/arrivals", report)
    return app


if __name__ == "__main__":
    web.run_app(make_app(), host="127.0.0.1", port=int(sys.argv[1]), print=None, shutdown_timeout=0)
