"""``python -m sandbox``: run the network until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from typing import NoReturn

from aiohttp import web

from sandbox.assembly import build
from sandbox.journal import JournalError
from sandbox.log import STDERR, STDOUT, Printer
from sandbox.settings import GRAPH_HOST, Settings, SettingsError, load

STOPS = (signal.SIGTERM, signal.SIGINT)
# A response that is still delayed must not delay the stop.
SHUTDOWN = 0.2
# Messages stay for good and are in no cycle, so the collector looks at them rarely. With Python's thresholds
# it stopped the process for 150 ms when there were 40,000 messages.
COLLECTOR = (50_000, 20, 100)


def run() -> NoReturn:
    """Exit with the code of ``main``.

    Python's own end restores the default of each signal, and a second signal would kill the process.
    """
    os._exit(main())


def main() -> int:
    """Return the exit code: 0 after a clean stop, 2 if a setting prevents the start."""
    printer = Printer()
    logging.basicConfig(level=logging.INFO, handlers=[printer])
    try:
        settings = load(os.environ)
        asyncio.run(_serve(settings, printer))
    except (SettingsError, JournalError) as error:
        printer.say(STDERR, f"sandbox: {error}\n")
        return 2
    finally:
        printer.finish()
    return 0


async def _serve(settings: Settings, printer: Printer) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end(*_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)

    # A handler of asyncio is removed with the loop, and a second signal would kill the process.
    for number in STOPS:
        signal.signal(number, end)
    gc.set_threshold(*COLLECTOR)
    app, journal = build(settings)
    gc.freeze()
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN)
    try:
        await runner.setup()
        said = await _listen(runner, settings)
        if settings.tls_port is not None:
            said += await _listen_with_tls(runner, settings, settings.tls_port)
        # In one write: a caller may read only the first line.
        printer.say(STDOUT, said)
        await stop.wait()
    finally:
        await runner.cleanup()
        journal.close()


async def _listen(runner: web.AppRunner, settings: Settings) -> str:
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
    return f"sandbox listening on http://{host}:{port}\ncallbacks to {settings.callback_url}\n"


async def _listen_with_tls(runner: web.AppRunner, settings: Settings, port: int) -> str:
    from sandbox import authority  # noqa: PLC0415 - most starts do without its half a second

    try:
        context = authority.server_context(settings.data_dir)
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot use the files in SANDBOX_DATA_DIR/tls: {error}") from error
    site = web.TCPSite(runner, settings.host, port, backlog=1024, ssl_context=context)
    try:
        await site.start()
    except OSError as error:
        raise SettingsError(
            f"cannot listen at SANDBOX_TLS_PORT {port}: {error.strerror}"
        ) from error
    trusted = authority.certificate_of(settings.data_dir).resolve()
    return (
        f"sandbox listening as https://{GRAPH_HOST} at {settings.host}, port"
        f" {runner.addresses[-1][1]}, clients have to trust {trusted}\n"
    )


if __name__ == "__main__":
    run()
