"""Receives callbacks: stored unchanged, and ingested later (docs/architecture.md, One callback)."""

from collections.abc import Mapping

from models.errors import ForbiddenError, UnauthorizedError
from models.messages.callback import Callback
from networks.registry import all_networks
from services import doorbells, telemetry


def verify(query: Mapping[str, str]) -> str:
    """The challenge of the verification handshake. Raises ForbiddenError for a wrong verify token."""
    for network in all_networks():
        if (challenge := network.challenge(query)) is not None:
            return challenge
    raise ForbiddenError("The mode or the verify token is wrong.")


def authenticate(body: bytes, headers: Mapping[str, str]) -> None:
    """Raise UnauthorizedError unless the headers have a network's signature of the raw body."""
    if not any(network.is_authentic(body, headers) for network in all_networks()):
        telemetry.CALLBACKS.labels(outcome="forged").inc()
        raise UnauthorizedError("The signature of the callback is wrong.")


def arrived() -> None:
    """Count a stored callback, and wake the worker that ingests it."""
    telemetry.CALLBACKS.labels(outcome="accepted").inc()
    doorbells.callbacks.ring()


def receive(body: bytes) -> None:
    """Store a callback that came from inside this process."""
    Callback.store(body)
    arrived()
