"""The messaging networks of this process, by name, and errors of any network in words for people."""

import asyncio
import atexit
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from functools import cache
from typing import Any, Protocol, TypeVar

from gateway.settings import get_settings
from networks.exceptions import AmbiguousError, NetworkError, NotOfferedError
from networks.interface import InProcess, Network
from networks.items import Part
from networks.memory.network import MemoryNetwork
from networks.whatsapp.cloud_api import CloudApi

Result = TypeVar("Result")
Capability = TypeVar("Capability")

CLOSING_SECONDS = 1
# The longest call, in seconds: a long list takes several requests, each with its own time-out.
MOST_SECONDS = 300

_opening, _starting = threading.Lock(), threading.Lock()


class OnNetwork(Protocol):
    """A number: the name of its network."""

    network: str


def _cloud_api() -> Network:
    settings = get_settings()
    return CloudApi(
        settings.network_url,
        settings.network_version,
        settings.network_app_id,
        settings.network_app_secret.get_secret_value(),
        settings.network_timeout,
        settings.network_idle,
        settings.network_verify_token.get_secret_value(),
    )


# How each network is opened, by its name in Settings.network and Number.network.
NETWORKS: dict[str, Callable[[], Network]] = {"whatsapp": _cloud_api, "memory": MemoryNetwork}
# What stores the callbacks of networks inside this process.
_stores: list[Callable[[bytes], object]] = []


def get_network(name: str | None = None) -> Network:
    """The network with this name, by default that of the settings. The process has one of each."""
    # Only one of several concurrent threads may open it.
    with _opening:
        return _open(name or get_settings().network)


def store_with(store: Callable[[bytes], object]) -> None:
    """Store the callbacks of networks inside this process with this function, in any thread."""
    _stores[:] = [store]


def parse(body: bytes, now: int) -> list[Part]:
    """The items of a callback of any network. See networks.interface.Network."""
    network = next((each for each in all_networks() if each.recognizes(body)), get_network())
    return network.parse(body, now)


def owner_of(body: bytes) -> bytes:
    """The platform's account that a callback of any network is about, empty if unknown."""
    return next(filter(None, (each.owner(body) for each in all_networks())), b"")


@cache
def _open(name: str) -> Network:
    network = NETWORKS[name]()
    if isinstance(network, InProcess):
        network.deliver = _deliver
    return network


def _deliver(body: bytes) -> None:
    for store in _stores:
        store(body)


def all_networks() -> list[Network]:
    """Each network of this process."""
    return [get_network(name) for name in NETWORKS]


def explanation(code: str, text: str = "") -> str:
    """What a code means and what to do, for an error with this text. Empty if no network knows it."""
    return next(filter(None, (each.explain(code, text) for each in all_networks())), "")


def explained(code: str, reason: str) -> str:
    """The network's text, followed by the explanation of the code."""
    sentences = (f"{reason.rstrip('.')}." if reason else "", explanation(code, reason))
    return " ".join(filter(None, sentences))


def described(error: NetworkError) -> str:
    """An error for people: the network's code, the network's text, and the explanation."""
    # Other codes are words of the gateway for its log.
    code = "" if error.network_code is None else error.code
    return f"{code} {explained(error.code, error.reason)}".strip()


def codes_explained_by(words: str) -> list[str]:
    """The codes whose explanation contains this text, in any case."""
    texts = (item for network in all_networks() for item in network.explanations.items())
    return [code for code, text in texts if words.casefold() in text.casefold()]


def network_of(number: OnNetwork) -> Network:
    """The network of a number."""
    return get_network(number.network)


def offered(capability: type[Capability], network: Network) -> Capability:
    """The network, for calls of this capability. Raises NotOfferedError if it lacks it."""
    if not isinstance(network, capability):
        raise NotOfferedError("not_offered", "The messaging network does not offer this.")
    return network


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


async def close_all() -> None:
    """Close the connections of this event loop to all networks."""
    for network in all_networks():
        await network.close()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="network", daemon=True).start()
    atexit.register(_close, loop)
    return loop


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """Close the connections, because aiohttp warns of open ones when the process ends."""
    with contextlib.suppress(TimeoutError):
        asyncio.run_coroutine_threadsafe(close_all(), loop).result(CLOSING_SECONDS)
