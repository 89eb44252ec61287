"""Ingesting stored callbacks: each item in a transaction of its own (design, section 2.2).

What cannot be taken in is set aside, one by one, where an operator sees it and can replay it
(docs/decisions/0017-items-set-aside.md).
"""

import logging
from dataclasses import dataclass

from opentelemetry.trace import SpanKind, StatusCode

from models import clock
from models.callback import Callback
from models.database import reading, write, writing
from models.message import Message
from models.number import Number
from models.set_aside import Reason, SetAside
from networks.callbacks import (
    AccountUpdate,
    CallbackUnreadableError,
    InboundMessage,
    ItemUnreadableError,
    Notice,
    Part,
    StatusUpdate,
    parse,
)
from tasks import deliver, lifecycle, notices, outcome, telemetry
from tasks.emit import emit_message
from tasks.queue import Doorbell, huey
from webhooks.kinds import EventKind

logger = logging.getLogger(__name__)

# After so many the items that still fail are set aside.
MAX_TRIES = 10
# So many callbacks go to a worker in one task.
MAX_TOGETHER = 10


@dataclass(frozen=True)
class Told:
    """What became of an item: ``reason`` why it is not in, ``error`` when that was a failure."""

    reason: Reason | None
    error: str | None = None


@huey.task()
def ingest_callback(*callback_ids: str) -> None:
    """Ingest stored callbacks, of which there is at least one. Doing it again changes nothing."""
    # All on one connection.
    with reading():
        done = [each.id for each in Callback.find_waiting(*callback_ids) if _take_in(each)]
        if done:
            write(lambda: Callback.finish(*done))


def _take_in(callback: Callback) -> bool:
    """Take in a callback's items. False when some could not be, and will be tried again."""
    about = {"gateway.callback_id": callback.id}
    with telemetry.span("ingest callback", SpanKind.CONSUMER, about) as span:
        try:
            parts = parse(bytes(callback.body))
        except CallbackUnreadableError as error:
            logger.warning("callback %s is unreadable: %s", callback.id, error)
            with writing():
                SetAside.keep(Reason.UNREADABLE, bytes(callback.body), error=str(error))
            return True
        tried = [(part, _try_part(callback.id, part)) for part in parts]
        failures = [(part, told.error) for part, told in tried if told.error]
        span.set_attribute("gateway.items", len(parts))
        if failures:
            span.set_status(StatusCode.ERROR)
    return not failures or _give_up(callback, failures)


def _give_up(callback: Callback, failures: list[tuple[Part, str]]) -> bool:
    """Set the items aside that fail for ever. False when they are to be tried again."""
    if callback.tries + 1 < MAX_TRIES:
        callback.note_failure(failures[0][1])
        return False
    with writing():
        for part, error in failures:
            SetAside.keep(Reason.FAILED, part.body(), error=error)
    return True


# Ring it with the identifier of a callback that is stored. Several tasks let several workers share a burst.
bell = Doorbell(ingest_callback, MAX_TOGETHER)


def match_parked() -> None:
    """Take in statuses that came before their message was known, and did not name it."""
    for parked in SetAside.matchable():
        replay(parked)


def replay(aside: SetAside) -> bool:
    """Ingest an item that was set aside once more. False when it stays aside, with its new reason."""
    try:
        [part] = parse(bytes(aside.body))
    except (CallbackUnreadableError, ValueError):
        return False
    told = _try_part(aside.id, part)
    if told.error:
        with writing():
            SetAside.keep(Reason.FAILED, bytes(aside.body), error=told.error)
    if told.reason is None:
        aside.settle()
    return told.reason is None


def _try_part(source_id: str, part: Part) -> Told:
    """Ingest one item, so that one bad item leaves the others alone."""
    try:
        return Told(_ingest(part))
    except Exception as error:
        logger.exception("an item of %s was not ingested", source_id)
        return Told(Reason.FAILED, f"{type(error).__name__}: {error}")


def _ingest(part: Part) -> Reason | None:
    """Take one item in, or set it aside. Returns why it was set aside."""
    try:
        item = part.item()
    except ItemUnreadableError as unreadable:
        with writing():
            SetAside.keep(Reason.UNREADABLE, part.body(), error=str(unreadable))
        return Reason.UNREADABLE
    match item:
        case InboundMessage():
            return _receive(part, item)
        case StatusUpdate():
            return _update_status(part, item)
        case AccountUpdate():
            lifecycle.follow_update(item)
        case Notice():
            notices.keep(item)
    return None


def _receive(part: Part, item: InboundMessage) -> Reason | None:
    at = item.at or clock.now()

    def receive() -> Reason | None:
        number = Number.find_connected(item.phone_number_id)
        if number is None:
            return _set_aside(Reason.FOREIGN_NUMBER, part, item)
        message = Message.write_inbound(
            number,
            wa_message_id=item.wa_message_id,
            sender=item.sender,
            type_=item.type,
            body=item.content,
            at=at,
        )
        if message is not None:
            emit_message(EventKind.MESSAGE_RECEIVED, message, at)
        return None

    reason = write(receive, *Message.keys(wa_message_id=item.wa_message_id))
    if reason is None:
        deliver.bell.ring()
    return reason


def _update_status(part: Part, item: StatusUpdate) -> Reason | None:
    def update() -> Reason | None:
        if outcome.record_status(item):
            return None
        is_ours = Number.find_connected(item.phone_number_id) is not None
        reason = Reason.UNKNOWN_MESSAGE if is_ours else Reason.FOREIGN_NUMBER
        return _set_aside(reason, part, item)

    reason = write(update, *Message.keys(item.reference, item.wa_message_id))
    if reason is None:
        deliver.bell.ring()
    return reason


def _set_aside(reason: Reason, part: Part, item: InboundMessage | StatusUpdate) -> Reason:
    """Inside the transaction that looked in vain, so that nothing becomes known in between."""
    SetAside.keep(
        reason,
        part.body(),
        phone_number_id=item.phone_number_id,
        wa_message_id=item.wa_message_id,
    )
    return reason
