"""Broadcasts of an account: creating, starting, pausing, resuming and cancelling them, and their ends.

services.broadcast_batches stores their messages, services.broadcasting sends them.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from models import clock
from models.accounts.account import owned
from models.accounts.actor import NETWORK, acting
from models.accounts.audit import Audit
from models.broadcasts.broadcast import (
    CLOSING,
    OPEN,
    Broadcast,
    BroadcastState,
    PauseCode,
)
from models.broadcasts.recipient import BroadcastRecipient, Entry, Skipped
from models.broadcasts.recipients_file import RecipientsFile
from models.database import exclusively
from models.deliveries.delivery import Delivery
from models.errors import ConflictError
from models.messages.content import as_json
from models.messages.message import Message
from models.numbers.number import Number
from resources.broadcast import broadcast_object
from services.broadcast_batches import HaltedError
from webhooks.kinds import EventKind

logger = logging.getLogger(__name__)

USED = "The recipients of the file {} are those of {}. Upload the file again for another broadcast."
# Who resumes after one of these accepts the number's quality, also after later pauses.
OF_QUALITY = {PauseCode.QUALITY, PauseCode.LIMITED}
# Recipients that one transaction adds or leaves out.
TOGETHER = 1_000


@exclusively
def create(
    number: Number,
    content: Any,
    recipients: Sequence[Entry],
    file: RecipientsFile | None = None,
    **values: Any,
) -> Broadcast:
    """Store a broadcast with these recipients, or those of a file, as a draft.

    ``values`` are columns of Broadcast. Raises ConflictError if another broadcast has the file's.
    """
    account_id, broadcast_id = number.account_id, clock.new_id("bc")
    broadcast = Broadcast(
        id=broadcast_id,
        account=account_id,
        number=number.id,
        content_json=as_json(content),
        list_id=broadcast_id if file is None else file.id,
        total=len(recipients) if file is None else file.recipients,
        state=BroadcastState.DRAFT,
        created_at=clock.now(),
        **values,
    )
    broadcast.save(force_insert=True)
    if file is not None and not file.use(broadcast_id):
        raise ConflictError(USED.format(file.id, "another broadcast"), field="/recipientsFile")
    for first in range(0, len(recipients), TOGETHER):
        BroadcastRecipient.add_many(broadcast.list_id, recipients[first : first + TOGETHER])
    after = {"number": number.id, "recipients": broadcast.total}
    Audit.record(account_id, "broadcast.created", broadcast.id, after=after)
    return Broadcast.get_by_id(broadcast.id)


def start(broadcast: Broadcast) -> Broadcast:
    """Start a draft now, or at its time. Raises ConflictError."""
    state, changes = _beginning(broadcast)
    return _move(broadcast, state, (BroadcastState.DRAFT,), "start", **changes)


def pause(broadcast: Broadcast) -> Broadcast:
    """Pause one that runs or is scheduled. Raises ConflictError."""
    before = (BroadcastState.SCHEDULED, BroadcastState.RUNNING)
    changes = {"reason": PauseCode.BY_USER}
    return _move(broadcast, BroadcastState.PAUSED, before, "pause", **changes)


def resume(broadcast: Broadcast) -> Broadcast:
    """Continue a paused one, or wait for its time again. Raises ConflictError."""
    state, changes = _beginning(broadcast)
    if broadcast.reason in OF_QUALITY:
        changes["accepted"] = PauseCode.QUALITY
    return _move(broadcast, state, (BroadcastState.PAUSED,), "resume", **changes)


def cancel(broadcast: Broadcast) -> Broadcast:
    """End one for good. Who waits gets no message. Raises ConflictError."""
    before = (BroadcastState.DRAFT, *OPEN)
    return _move(broadcast, BroadcastState.CANCELLED, before, "cancel")


def _beginning(broadcast: Broadcast) -> tuple[BroadcastState, dict[str, Any]]:
    """The state of one that starts or continues now, and what changes with it."""
    now = clock.now()
    if broadcast.started_at is not None:
        return BroadcastState.RUNNING, {}
    if broadcast.start_at is not None and broadcast.start_at > now:
        return BroadcastState.SCHEDULED, {}
    return BroadcastState.RUNNING, {"started_at": now}


ACTIONS = {"start": start, "pause": pause, "resume": resume, "cancel": cancel}


@exclusively
def _move(
    broadcast: Broadcast, state: BroadcastState, before: Sequence[str], verb: str, **changes: Any
) -> Broadcast:
    known = owned(Broadcast, broadcast.id, broadcast.account_id)
    was, had_started = known.state, known.started_at is not None
    if not known.move(state, before=before, **changes):
        *others, last = map(str, before)
        states = f"{', '.join(others)} or {last}" if others else last
        raise ConflictError(
            f"The broadcast {known.id} is {known.state}. Only one that is {states} can {verb}."
        )
    Audit.record(
        known.account_id,
        f"broadcast.{verb}",
        known.id,
        before={"status": str(was)},
        after={"status": str(state)},
    )
    _emit(known, had_started=had_started)
    return known


def _emit(broadcast: Broadcast, *, had_started: bool = True) -> None:
    """Emit the event of the state that a broadcast has now, in the caller's transaction."""
    kind = None
    if broadcast.state == BroadcastState.RUNNING and not had_started:
        kind = EventKind.BROADCAST_STARTED
    elif broadcast.state == BroadcastState.PAUSED:
        kind = EventKind.BROADCAST_PAUSED
    elif broadcast.ended_at is not None:
        kind = EventKind.BROADCAST_COMPLETED
    if kind is not None:
        data, ids = broadcast_object(broadcast), [broadcast.number_id]
        Delivery.emit(broadcast.account_id, kind, data, subject_id=broadcast.id, number_ids=ids)


@exclusively
def halt(broadcast_id: str, halted: HaltedError) -> bool:
    """Pause a running broadcast that cannot continue. Returns whether it ran."""
    broadcast = Broadcast.by_id(broadcast_id)
    if broadcast is None:
        return False
    changes = {"reason": halted.code, "detail": halted.detail, "resume_at": halted.resume_at}
    with acting(NETWORK):
        if not broadcast.move(BroadcastState.PAUSED, before=(BroadcastState.RUNNING,), **changes):
            return False
        after = {"status": str(BroadcastState.PAUSED), "reason": str(halted.code)}
        Audit.record(broadcast.account_id, "broadcast.pause", broadcast.id, after=after)
        _emit(broadcast)
    logger.warning("broadcast %s is paused: %s", broadcast.id, halted.code)
    return True


def move_due() -> None:
    """Start and continue broadcasts whose time has come, and end those that expired."""
    for broadcast in Broadcast.due():
        _move_due(broadcast.id)


@exclusively
def _move_due(broadcast_id: str) -> None:
    # Another worker may have moved it meanwhile.
    for broadcast in Broadcast.due():
        if broadcast.id == broadcast_id:
            had_started = broadcast.started_at is not None
            if broadcast.has_expired(clock.certain()):
                broadcast.move(BroadcastState.EXPIRED, before=OPEN)
            else:
                before = (BroadcastState.SCHEDULED, BroadcastState.PAUSED)
                state, changes = _beginning(broadcast)
                broadcast.move(state, before=before, **changes)
                _emit(broadcast, had_started=had_started)


def finish(broadcast: Broadcast) -> bool:
    """End one of whose recipients nobody waits any more. Returns whether that is so."""
    return not _has_work(broadcast) and _finish(broadcast.id)


def _has_work(broadcast: Broadcast) -> bool:
    """Whether a recipient waits, or may wait again because its message is on its way."""
    is_waiting = BroadcastRecipient.next_due(broadcast.list_id) is not None
    return is_waiting or Message.is_any_pending(broadcast.id)


@exclusively
def _finish(broadcast_id: str) -> bool:
    broadcast = Broadcast.get_by_id(broadcast_id)
    # Between the two queries before this transaction a recipient may have begun to wait again.
    if _has_work(broadcast):
        return False
    if broadcast.move(BroadcastState.DONE, before=(BroadcastState.RUNNING,)):
        _emit(broadcast)
    return True


def close_ended() -> None:
    """Leave out who waits in broadcasts that were cancelled or expired, then end these."""
    for broadcast in Broadcast.in_states(*CLOSING):
        skipped = Skipped(broadcast.state)
        close = partial(BroadcastRecipient.close, broadcast.list_id, skipped, TOGETHER)
        while exclusively(close)():
            pass
        if not _has_work(broadcast):
            _end(broadcast.id)


@exclusively
def _end(broadcast_id: str) -> None:
    broadcast = Broadcast.get_by_id(broadcast_id)
    if not _has_work(broadcast) and broadcast.end():
        _emit(broadcast)
