"""Schedules the updates that are not delivered yet."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from sandbox import shapes
from sandbox.account_updates import PROVIDER_BUSINESS_ID
from sandbox.callbacks import Outbox
from sandbox.entities import AccountUpdate, Inbound, Message, Number
from sandbox.journal import Fact
from sandbox.network import KEY_SEPARATOR, Network
from sandbox.timetable import Timetable


class Dispatcher:
    """Hands updates to the outbox when they are due.

    All its state can be rebuilt from the journal.
    """

    def __init__(
        self, network: Network, outbox: Outbox, timetable: Timetable, app_url: str
    ) -> None:
        self._network = network
        self._outbox = outbox
        self._timetable = timetable
        self._app_url = app_url

    def resume(self) -> None:
        """After a start: schedule all updates that were undelivered when the process ended."""
        for message in self._network.messages.values():
            self.emit_statuses(message)
        for owed in list(self._network.owed.values()):
            self.announce(owed)

    def emit_statuses(self, message: Message) -> None:
        """Emit each status of a message that is not confirmed yet, at its time."""
        for status in message.steps:
            if status not in message.confirmed:
                self._timetable.at(message.due_at(status), partial(self._emit, message, status))

    async def confirmed(self, message: Message, status: str) -> None:
        """Return once this status is confirmed, or dropped because nobody is subscribed."""
        if status in message.steps and status not in message.confirmed:
            await self._outbox.written_off(status_key(message, status))

    def announce(self, owed: Inbound | AccountUpdate) -> None:
        """Emit an inbound message or an account update now."""
        if isinstance(owed, Inbound):
            number = self._network.numbers[owed.number_id]
            person = self._network.people.find(owed.person)
            self._offer(shapes.inbound_update(owed, number, person), number.waba_id, number)
        elif owed.entry_id == PROVIDER_BUSINESS_ID:
            # Updates about a partnership always go to the app, without a subscription of the customer.
            self._send(shapes.account_update(owed), self._app_url)
        else:
            self._offer(shapes.account_update(owed), owed.waba_id)

    def announce_recorded(self, facts: Iterable[Fact]) -> None:
        """Emit the account updates among facts that are recorded."""
        for fact in facts:
            if fact["fact"] == "account":
                self.announce(self._network.owed[fact["key"]])

    def _emit(self, message: Message, status: str) -> None:
        number = self._network.numbers[message.number_id]
        key, person = status_key(message, status), self._network.people.find(message.to)
        update = shapes.status_update(key, message, status, number, person)
        self._offer(update, number.waba_id, number)

    def _offer(self, update: shapes.Update, waba_id: str, number: Number | None = None) -> None:
        waba = self._network.wabas[waba_id]
        if waba.subscribed:
            # The nearer override wins (Webhooks: overriding the callback).
            nearest = number.override_url if number is not None else None
            self._send(update, nearest or waba.override_url or self._app_url)
        else:
            self._drop(update)

    def _send(self, update: shapes.Update, url: str) -> None:
        fields = self._network.app_fields
        if fields is None or shapes.field_of(update) in fields:
            self._outbox.add(update, url)
        else:
            self._drop(update)

    def _drop(self, update: shapes.Update) -> None:
        """Without a subscription the platform drops callbacks silently, and never sends them later."""
        self._network.record({"fact": "done", "keys": [update.key]})
        self._outbox.release([update.key])


def status_key(message: Message, status: str) -> str:
    """The key under which a status is owed."""
    return f"{message.id}{KEY_SEPARATOR}{status}"
