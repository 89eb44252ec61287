"""Hands the stored messages of a broadcast to the network, and records their outcomes.

services.broadcast_batches stores them.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from models import clock
from models.broadcasts.broadcast import Broadcast, BroadcastState, PauseCode
from models.broadcasts.recipient import BroadcastRecipient
from models.database import database_time, exclusively, write, writing
from models.database.outage import UNAVAILABLE
from models.errors import DomainError
from models.messages.contact import Contact
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from models.reports.usage import counting
from networks import exceptions as network
from networks.interface import Acceptance, Halt
from networks.registry import network_of
from services import contacts, number_status, template_copy
from services.broadcast_batches import HaltedError
from services.broadcast_words import words_of
from services.message_status import emit_message, record_acceptances
from services.network_failures import failure_of
from services.sending import Send, call_network, record_at_once, record_later
from webhooks.kinds import EventKind

# Pauses in milliseconds: after the network throttled the pair of number and person, after another throttling,
# and after it was not reached.
PAIR_PAUSE_MS, THROTTLED_PAUSE_MS, UNREACHED_PAUSE_MS = 60_000, 1_000, 5_000
# The network says that the number reached its limit, and not until when.
LIMIT_PAUSE_MS = 3_600_000
# Accepted messages that one transaction records, and the time in which they gather. Then the same beside
# single sends, which wait for the transaction.
MANY_RECORDED, FEW_RECORDED = (64, 0.05), (16, 0.015)

HALTED_BY: dict[type[network.NetworkError], PauseCode] = {
    network.AccountActionError: PauseCode.ACCOUNT,
    network.NumberLostError: PauseCode.NUMBER,
    network.NumberBannedError: PauseCode.NUMBER,
    network.NumberInDoubtError: PauseCode.NUMBER,
}


class Effect(NamedTuple):
    """What an outcome means for the next messages: slower, or not at all.

    ``failure`` is the code of an error about this message, ``detail`` its words. ``is_unclear``: it may have
    been sent.
    """

    slows: bool = False
    halted: HaltedError | None = None
    failure: str | None = None
    detail: str = ""
    is_unclear: bool = False


class Outcomes:
    """Records the messages that the network accepted, those together that end together.

    ``are_few``: few are recorded together, because single sends wait meanwhile.
    """

    def __init__(self) -> None:
        self.are_few = False
        self._waiting: list[tuple[Send, Acceptance, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def record(self, send: Send, accepted: Acceptance) -> None:
        """Record one. Returns when it is recorded."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((send, accepted, done))
        if self._task is None:
            self._task = asyncio.create_task(self._record_all())
        await done

    async def _record_all(self) -> None:
        while self._waiting:
            most, seconds = FEW_RECORDED if self.are_few else MANY_RECORDED
            if len(self._waiting) < most:
                # Those that end at about the same moment.
                await asyncio.sleep(seconds)
            some, self._waiting = self._waiting[:most], self._waiting[most:]
            await self._record(some)
        self._task = None

    async def _record(self, some: list[tuple[Send, Acceptance, asyncio.Future[None]]]) -> None:
        """Record some together. If that fails, each alone, so that a bad one affects no other."""
        try:
            await _record_accepted([(send, accepted) for send, accepted, _ in some])
        except Exception as error:  # noqa: BLE001 - raised again in the callers
            if len(some) == 1:
                some[0][2].set_exception(error)
                return
            for each in some:
                await self._record([each])
        else:
            for *_, done in some:
                done.set_result(None)


async def _record_accepted(some: Sequence[tuple[Send, Acceptance]]) -> None:
    rows = [(send.message, accepted, send.contact) for send, accepted in some]
    by_account: dict[str, list[tuple[Message, Acceptance, Contact | None]]] = {}
    for row in rows:
        by_account.setdefault(row[0].account_id, []).append(row)
    keys = [key for message, accepted, _ in rows for key in (message.id, accepted.wa_message_id)]

    def record() -> None:
        for theirs in by_account.values():
            record_acceptances(theirs)

    await _record(rows[0][0].id, lambda: write(record, *keys), keys)


async def hand_over(broadcast: Broadcast, send: Send, outcomes: Outcomes) -> Effect:
    """Call the network for a stored message, and record the outcome. Returns what it means for the next.

    It waits until the outcome is recorded, also while the database is away.
    """
    message = send.message
    try:
        accepted = await call_network(send)
    except network.NetworkError as error:
        effect = _effect_of(send.number, error)
        await _record(message.id, partial(_record_failure, broadcast, send, error))
        return effect
    except DomainError as error:
        # The network lacks a capability.
        halted = HaltedError(PauseCode.ACCOUNT, error.message)
        await _record(message.id, partial(_take_back, broadcast, message, 0))
        return Effect(halted=halted)
    await outcomes.record(send, accepted)
    return Effect()


async def withdraw(broadcast: Broadcast, send: Send) -> Effect:
    """Take back a message that has waited for long. Its recipient waits again.

    Meanwhile the person may have opted out, or the broadcast was paused. The next claim finds that.
    """
    error = network.NotReachedError("not_sent", "It waited until the broadcast had ended.")
    await _record(send.message.id, partial(_record_failure, broadcast, send, error))
    return Effect()


async def _record(message_id: str, record: Callable[[], object], keys: Sequence[str] = ()) -> None:
    try:
        await record_at_once(record, keys)
    except UNAVAILABLE:
        await record_later(message_id, record)


def _effect_of(number: Number, error: network.NetworkError) -> Effect:
    its_network = network_of(number)
    if (halted := _halted_by(number, error)) is not None:
        return Effect(halted=halted)
    if error.code in its_network.pair_limits:
        return Effect()
    if isinstance(error, network.ThrottledError | network.NotReachedError):
        return Effect(slows=True)
    is_unclear = isinstance(error, network.AmbiguousError)
    return Effect(
        slows=is_unclear, is_unclear=is_unclear, failure=error.code, detail=words_of(error)
    )


def _halted_by(number: Number, error: network.NetworkError) -> HaltedError | None:
    """Why no message of the number or of this content will be accepted for now."""
    halt, until = network_of(number).halts.get(error.code), error.details.restricted_until
    if halt is Halt.MESSAGING_LIMIT:
        until = until or clock.now() + LIMIT_PAUSE_MS
    code = PauseCode(halt) if halt else HALTED_BY.get(type(error))
    return None if code is None else HaltedError(code, words_of(error), until)


def _record_failure(broadcast: Broadcast, send: Send, error: network.NetworkError) -> None:
    """Record an error of the network, with what it means for the number and the person."""
    number, message, its_network = send.number, send.message, network_of(send.number)
    is_halt = error.code in its_network.halts
    with writing():
        if isinstance(error, network.AmbiguousError):
            if (fresh := Message.by_id(message.id)) is not None:
                fresh.advance(MessageStatus.UNKNOWN, at=clock.now())
        else:
            is_passing = is_halt or not isinstance(error, network.RefusedError)
            pause_ms = _pause_ms(number, error)
            if not (is_passing and _take_back(broadcast, message, pause_ms)):
                _fail(send, error)
        number_status.apply_error(number, error)
        if error.code in its_network.template_differs:
            template_copy.note_difference(number)


def _pause_ms(number: Number, error: network.NetworkError) -> int:
    """How long the recipient waits after an error that certainly sent nothing."""
    if error.code in network_of(number).pair_limits:
        return PAIR_PAUSE_MS
    is_unreached = isinstance(error, network.NotReachedError)
    return UNREACHED_PAUSE_MS if is_unreached else THROTTLED_PAUSE_MS


@exclusively
def _take_back(broadcast: Broadcast, message: Message, pause_ms: int) -> bool:
    """Delete a message that certainly was not sent. Its recipient waits again.

    Returns False if the broadcast has ended: this worker was frozen, and the message unknown for so long.
    """
    fresh = Broadcast.by_id(broadcast.id)
    if fresh is None or fresh.ended_at is not None:
        return False
    # Only its own status can have changed it since, and then it was sent.
    if Message.remove_unsent(message):
        with counting() as count:
            count.remove(message)
        due_at = database_time(clock.now()) + pause_ms
        BroadcastRecipient.wait_again(broadcast.list_id, message.id, due_at)
        if fresh.state == BroadcastState.PAUSED and fresh.reason == PauseCode.MESSAGING_LIMIT:
            # The person no longer counts, so there is room again.
            fresh.assign({"resume_at": clock.now() + pause_ms})
    return True


def _fail(send: Send, error: network.NetworkError) -> None:
    """The network refused the message for its content or its recipient."""
    now = clock.now()
    if (fresh := Message.by_id(send.message.id)) is None:
        return
    failure = failure_of([(error.code, error.reason)], [error.details])
    if fresh.advance(MessageStatus.FAILED, at=now, error=failure):
        emit_message(EventKind.MESSAGE_FAILED, fresh, now)
        if error.code == network_of(send.number).opt_out:
            contacts.opt_out(fresh, now)
