"""The network of the settings."""

import asyncio
import atexit
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import wait
from functools import cache
from typing import Any, TypeVar

from gateway.settings import get_settings
from networks.exceptions import AmbiguousError
from networks.interface import Network
from networks.whatsapp.cloud_api import CloudApi

Result = TypeVar("Result")

CLOSING_SECONDS = 1
# The longest call, in seconds: a long list takes several requests, each with its own time-out.
MOST_SECONDS = 300

_starting = threading.Lock()


@cache
def get_network() -> Network:
    """The network of this process."""
    settings = get_settings()
    return CloudApi(
        settings.network_url,
        settings.network_version,
        settings.network_app_id,
        settings.network_app_secret.get_secret_value(),
        settings.network_timeout,
        settings.network_idle,
    )


def wait_for(question: Coroutine[Any, Any, Result]) -> Result:
    """Run a call of the network for a caller without an event loop, such as a signup or a check.

    Raises a class of networks.exceptions.
    """
    # Only one of several concurrent threads may create the loop.
    with _starting:
        loop = _loop()
    answer = asyncio.run_coroutine_threadsafe(question, loop)
    wait([answer], MOST_SECONDS)
    if not answer.done():
        answer.cancel()
        raise AmbiguousError("timeout", "The messaging network did not respond in time.")
    return answer.result(0)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="network", daemon=True).start()
    atexit.register(_close, loop)
    return loop


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """Close the connections, because aiohttp warns of open ones when the process ends."""
    with contextlib.suppress(TimeoutError):
        asyncio.run_coroutine_threadsafe(get_network().close(), loop).result(CLOSING_SECONDS)
