"""Ingesting stored callbacks (design, section 2.2): many in one transaction, one by one where that fails.

An item that cannot be taken in is set aside, where an operator sees it and can replay it
(docs/decisions/0017-items-set-aside.md).
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from opentelemetry.trace import Span, SpanKind, StatusCode

from models import clock
from models.callback import MAX_TRIES, Callback
from models.database import reading, write, writing
from models.message import Message
from models.notice import Notice as KeptNotice
from models.number import Number
from models.set_aside import Reason, SetAside
from models.work import NO_OUTCOME
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
from networks.callbacks import Item as Content
from tasks import deliver, lifecycle, outcome, telemetry
from tasks.emit import emit_message
from tasks.queue import Doorbell
from webhooks.kinds import EventKind

logger = logging.getLogger(__name__)

# So many callbacks are claimed together. After so many claims a worker that is told to stop can end.
MAX_TOGETHER, MAX_CLAIMS = 50, 20


@dataclass(frozen=True)
class Item:
    """One item of a callback. ``content`` is None if it is unreadable; ``error`` says why."""

    body: Callable[[], bytes]
    content: Content | None
    error: str | None = None

    @property
    def keys(self) -> list[str]:
        """The message that its transaction works on (models.database.write), by either identifier."""
        known = (getattr(self.content, name, None) for name in ("reference", "wa_message_id"))
        return [identifier for identifier in known if identifier is not None]


# Ring it when a callback is stored. Statuses come in bursts: one wake-up serves many.
bell = Doorbell("callbacks", 0.05)


def work_off() -> None:
    # All on one connection.
    with reading():
        for _ in range(MAX_CLAIMS):
            claimed = Callback.claim(MAX_TOGETHER)
            if not claimed:
                return
            _ingest(claimed)
            deliver.bell.ring()
    bell.ring()


def _ingest(callbacks: Sequence[Callback]) -> None:
    """Ingest claimed callbacks. Ingesting one again changes nothing."""
    if callbacks[0].tries > MAX_TRIES:
        # Its workers ended or froze, perhaps while they read it.
        _finish(callbacks[0], [(bytes(callbacks[0].body), NO_OUTCOME)])
        return
    read = [(callback, _read(callback)) for callback in callbacks]
    keys = {key for _, items in read for item in items for key in item.keys}
    try:
        write(partial(_take_in_all, read), *sorted(keys))
    except Exception:
        logger.warning("%d callbacks are ingested one by one", len(read), exc_info=True)
        for callback, items in read:
            _take_in(callback, items)


def _finish(callback: Callback, failures: Sequence[tuple[bytes, str]]) -> None:
    with writing():
        for body, error in failures:
            SetAside.keep(Reason.FAILED, body, error=error)
        Callback.finish(callback.id)


def _take_in_all(read: Sequence[tuple[Callback, list[Item]]]) -> None:
    for callback, items in read:
        with _span(callback, items):
            for item in items:
                _take(item)
    Callback.finish(*(callback.id for callback, _ in read))


def _take_in(callback: Callback, items: list[Item]) -> None:
    """Take in each item by itself, so that a bad one leaves the others alone."""
    with _span(callback, items) as span:
        tried = [(item, *_try(callback.id, item)) for item in items]
        failures = [(item, error) for item, _, error in tried if error]
        if failures:
            span.set_status(StatusCode.ERROR)
    if failures and callback.tries < MAX_TRIES:
        callback.postpone(failures[0][1])
    else:
        _finish(callback, [(item.body(), error) for item, error in failures])


def _span(callback: Callback, items: Sequence[Item]) -> AbstractContextManager[Span]:
    about: dict[str, str | int] = {"gateway.callback_id": callback.id, "gateway.items": len(items)}
    return telemetry.span("ingest callback", SpanKind.CONSUMER, about)


def _read(callback: Callback) -> list[Item]:
    body = bytes(callback.body)
    try:
        return [_item(part) for part in parse(body)]
    except CallbackUnreadableError as error:
        logger.warning("callback %s is unreadable: %s", callback.id, error)
        return [Item(lambda: body, None, str(error))]


def _item(part: Part) -> Item:
    try:
        return Item(part.body, part.item())
    except ItemUnreadableError as error:
        return Item(part.body, None, str(error))


def match_parked() -> None:
    """Take in statuses that came before their message was known, and did not name it."""
    for parked in SetAside.matchable():
        replay(parked)


def replay(aside: SetAside) -> bool:
    """Ingest what was set aside once more. False when any of its items stays aside, with its new reason.

    Of a whole callback each such item is set aside by itself.
    """
    try:
        items = [_item(part) for part in parse(bytes(aside.body))]
    except CallbackUnreadableError:
        return False
    tried = [(item, *_try(aside.id, item)) for item in items]
    with writing():
        for item, _, error in tried:
            if error:
                SetAside.keep(Reason.FAILED, item.body(), error=error)
    is_in = all(reason is None for _, reason, _ in tried)
    if is_in or len(items) > 1:
        aside.settle()
        deliver.bell.ring()
    return is_in


def _try(source_id: str, item: Item) -> tuple[Reason | None, str | None]:
    """Take one item in. Returns why it is not in, and its error if that is a failure."""
    try:
        return write(partial(_take, item), *item.keys), None
    except Exception as error:
        logger.exception("an item of %s was not ingested", source_id)
        return Reason.FAILED, f"{type(error).__name__}: {error}"


def _take(item: Item) -> Reason | None:
    """Take one item in, or set it aside, in the caller's transaction. Returns why it was set aside.

    Nothing becomes known between the reason and the row that keeps it.
    """
    reason: Reason | None = None
    match item.content:
        case None:
            reason = Reason.UNREADABLE
        case InboundMessage() as message:
            reason = _receive(message)
        case StatusUpdate() as status:
            reason = _update_status(status)
        case AccountUpdate() as update:
            lifecycle.follow_update(update)
        case Notice() as told:
            KeptNotice.keep(told.waba_id, told.field, told.phone_number, told.value, told.at)
    if reason is not None:
        SetAside.keep(
            reason,
            item.body(),
            phone_number_id=getattr(item.content, "phone_number_id", None),
            wa_message_id=getattr(item.content, "wa_message_id", None),
            error=item.error,
        )
    return reason


def _receive(item: InboundMessage) -> Reason | None:
    number = Number.find_connected(item.phone_number_id)
    if number is None:
        return Reason.FOREIGN_NUMBER
    at = item.at or clock.now()
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


def _update_status(item: StatusUpdate) -> Reason | None:
    if outcome.record_status(item):
        return None
    is_ours = Number.find_connected(item.phone_number_id) is not None
    return Reason.UNKNOWN_MESSAGE if is_ours else Reason.FOREIGN_NUMBER
