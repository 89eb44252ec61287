"""Receives callbacks: stored unchanged, and ingested later (docs/architecture.md, One callback)."""

from collections.abc import Mapping

from models.messages.callback import Callback
from networks.registry import get_network
from services import doorbells, telemetry
from services.errors import ApiError, ForbiddenError


def verify(query: Mapping[str, str]) -> str:
    """The challenge of the verification handshake. Raises ForbiddenError for a wrong verify token."""
    challenge = get_network().challenge(query)
    if challenge is None:
        raise ForbiddenError("The mode or the verify token is wrong.")
    return challenge


def authenticate(body: bytes, headers: Mapping[str, str]) -> None:
    """Raise ApiError unless the headers have the network's signature of the raw body."""
    if not get_network().is_authentic(body, headers):
        telemetry.CALLBACKS.labels(outcome="forged").inc()
        raise ApiError("The signature of the callback is wrong.", status=401)


def store(body: bytes) -> None:
    """Store an authentic callback."""
    Callback.store(body)


def arrived() -> None:
    """Count a stored callback, and wake the worker that ingests it."""
    telemetry.CALLBACKS.labels(outcome="accepted").inc()
    doorbells.callbacks.ring()


def receive(body: bytes) -> None:
    """Store a callback that came from inside this process."""
    store(body)
    arrived()
