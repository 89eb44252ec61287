"""What the network still has to say, and when."""

from __future__ import annotations

import asyncio

from sandbox import clock, shapes
from sandbox.callbacks import Outbox
from sandbox.entities import AccountUpdate, Inbound, Message
from sandbox.state import KEY_SEPARATOR, Network


class Dispatcher:
    """Hands updates to the outbox when they are due.

    Holds nothing that the journal cannot give back.
    """

    def __init__(self, network: Network, outbox: Outbox) -> None:
        self._network = network
        self._outbox = outbox

    def resume(self) -> None:
        """After a start: take up everything that was owed when the process ended."""
        for message in self._network.messages.values():
            self.follow(message)
        for owed in list(self._network.owed.values()):
            self.announce(owed)

    def follow(self, message: Message) -> None:
        """Emit each status of a message that is not confirmed yet, at its time."""
        loop, now = asyncio.get_running_loop(), clock.now()
        for status in message.steps:
            if status not in message.confirmed:
                loop.call_later(max(0.0, message.due_at(status) - now), self._emit, message, status)

    def announce(self, owed: Inbound | AccountUpdate) -> None:
        """Emit an inbound message or an account update now."""
        if isinstance(owed, Inbound):
            number = self._network.numbers[owed.number_id]
            self._offer(shapes.inbound_update(owed, number), number.waba_id)
        else:
            self._offer(shapes.account_update(owed), owed.waba_id)

    def _emit(self, message: Message, status: str) -> None:
        number = self._network.numbers[message.number_id]
        key = f"{message.id}{KEY_SEPARATOR}{status}"
        self._offer(shapes.status_update(key, message, status, number), number.waba_id)

    def _offer(self, update: shapes.Update, waba_id: str) -> None:
        if self._network.wabas[waba_id].subscribed:
            self._outbox.add(update)
        else:
            # Without a subscription the platform drops callbacks silently, and never sends them
            # later.
            self._network.record({"fact": "done", "keys": [update.key]})
