"""``GET /en_US/sdk.js``: the platform's JavaScript SDK, as far as embedded signup needs it."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

SCRIPT = (Path(__file__).parent / "templates" / "sdk.js").read_bytes()


def add_routes(app: web.Application) -> None:
    """Register the script at the platform's own path."""
    app.add_routes([web.get("/en_US/sdk.js", get_script)])


async def get_script(_request: web.Request) -> web.Response:
    """The script, readable by every page, as pages load it with ``crossorigin``."""
    headers = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-cache"}
    return web.Response(
        body=SCRIPT, content_type="application/javascript", charset="utf-8", headers=headers
    )
