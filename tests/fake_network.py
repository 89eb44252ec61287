"""A network that accepts every message."""

from collections.abc import Callable

import pytest

from networks.interface import Acceptance, OutboundMessage, Sender
from networks.whatsapp.rules import Rules
from services import sending


def accept_all(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[], object] = lambda: None
) -> list[OutboundMessage]:
    """Let each send be accepted, after ``before()``. Returns the messages that the network gets."""
    asked: list[OutboundMessage] = []

    class Accepting(Rules):
        async def send(self, _: Sender, message: OutboundMessage) -> Acceptance:
            before()
            asked.append(message)
            return Acceptance(f"wamid.{len(asked)}")

    monkeypatch.setattr(sending, "network_of", lambda _: Accepting())
    return asked
