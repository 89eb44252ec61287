"""``python -m sandbox``: run the network until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys

from aiohttp import web

from sandbox.assembly import build
from sandbox.journal import JournalError
from sandbox.settings import Settings, SettingsError, load

# An answer that is being delayed must not delay the stop.
SHUTDOWN = 0.2


def main() -> int:
    """Exit code: 0 after a clean stop, 2 when a setting keeps it from starting."""
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s"
    )
    try:
        settings = load(os.environ)
        asyncio.run(_serve(settings))
    except (SettingsError, JournalError) as error:
        sys.stderr.write(f"sandbox: {error}\n")
        return 2
    return 0


async def _serve(settings: Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    app, journal = build(settings)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN)
    try:
        await runner.setup()
        await _listen(runner, settings)
        await stop.wait()
    finally:
        await runner.cleanup()
        journal.close()


async def _listen(runner: web.AppRunner, settings: Settings) -> None:
    site = web.TCPSite(runner, settings.host, settings.port, backlog=1024)
    try:
        await site.start()
    except OSError as error:
        raise SettingsError(
            f"cannot listen at SANDBOX_HOST {settings.host}, SANDBOX_PORT {settings.port}:"
            f" {error.strerror}"
        ) from error
    port = runner.addresses[0][1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    sys.stdout.write(
        f"sandbox listening on http://{host}:{port}, callbacks to {settings.callback_url}\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
