"""Ingests callbacks: many in one transaction, and item by item if that fails.

An item that cannot be ingested is set aside. An operator sees it there and can replay it
(docs/decisions/0016-statuses-in-any-order.md).
"""

import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial

from opentelemetry.trace import Span, SpanKind

from models import clock
from models.accounts.actor import NETWORK, acting
from models.database import write, writing
from models.database.outage import is_outage
from models.messages.callback import Callback, Reason, SetAside
from models.messages.contact import Contact
from models.messages.message import Direction, Message, Origin
from models.numbers.number import Number
from models.reports.usage import UsageCount, counting
from networks.items import (
    AccountUpdate,
    AppContact,
    AppMessage,
    CallUpdate,
    InboundMessage,
    Item,
    Part,
    PersonUpdate,
    PlatformNotice,
    StatusUpdate,
    Unreadable,
)
from networks.registry import parse
from services import app_sync, calls, contacts, corrections, number_status, telemetry, template_copy
from services.mentions import ErasedPeople, people_of
from services.message_status import SentMessages, emit_message, record_status
from webhooks.kinds import EventKind

logger = logging.getLogger(__name__)

# The network repeats a callback for seven days. An older item is a replay of somebody else: it must not bring
# an erased person back.
MOST_AGE_MS = 8 * 24 * 3_600_000
# The most callbacks of a transaction, and the time after which it takes no further one. All writers of SQLite
# wait for its end.
MOST_TOGETHER, MOST_SECONDS = 50, 0.03

# The items that are about a person.
OF_PEOPLE = (InboundMessage, AppMessage, AppContact, CallUpdate, StatusUpdate, PersonUpdate)
# A callback and its items.
Read = tuple[Callback, Sequence[Part]]


class GoneError(Exception):
    """The callback was removed after the claim.

    Another worker ingested it, or a person in it was erased and the rest of it is another callback.
    """


def read(callbacks: Iterable[Callback]) -> list[Read]:
    """These callbacks with their items."""
    now = clock.now()
    return [(callback, parse(bytes(callback.body), now)) for callback in callbacks]


def ingest_together(callbacks: Sequence[Read], *, are_stored: bool) -> int:
    """Ingest the first callbacks in one transaction. Returns how many, at least one.

    Ingesting one again changes nothing. Stored ones are removed. Raises GoneError if one is no longer there.
    """

    def ingest() -> int:
        done: list[str] = []
        all_parts = [part for _, parts in callbacks for part in parts]
        items = (part.item for part in all_parts)
        erased = ErasedPeople(all_parts)
        sent = SentMessages([item for item in items if isinstance(item, StatusUpdate)])
        # Not before: the first query may have waited for locks.
        until = time.monotonic() + MOST_SECONDS
        with counting() as count:
            for callback, parts in callbacks:
                with ingesting(callback, parts):
                    for part in erased.without(parts, callback.received_at):
                        _ingest_item(part, count, sent, callback)
                done.append(callback.id)
                if time.monotonic() >= until:
                    break
            if are_stored and Callback.finish(*done) < len(done):
                raise GoneError
        return len(done)

    return write(ingest, *keys_of(callbacks))


def keys_of(callbacks: Sequence[Read]) -> list[str]:
    """The keys of the messages and people that these callbacks change (models.database.write)."""
    return sorted({key for _, parts in callbacks for part in parts for key in _keys(part)})


def ingesting(callback: Callback, parts: Sequence[Part]) -> AbstractContextManager[Span]:
    """The span of ingesting a callback."""
    about: dict[str, str | int] = {"gateway.callback_id": callback.id, "gateway.items": len(parts)}
    return telemetry.span("ingest callback", SpanKind.CONSUMER, about)


def _keys(part: Part) -> list[str]:
    """The keys of the message and the person that the item changes (models.database.write)."""
    known = [getattr(part.item, name, None) for name in ("reference", "wa_message_id")]
    if isinstance(part.item, OF_PEOPLE):
        known.append(part.item.person.phone or part.item.person.user_id)
    return [identifier for identifier in known if identifier is not None]


def match_parked() -> None:
    """Ingest statuses that came before the network's identifier of their message was known."""
    for parked in SetAside.matchable():
        replay(parked)


def replay(aside: SetAside) -> bool:
    """Ingest a row of SetAside again. Returns False if any of its items stays aside, with its new reason.

    If the row is a whole callback, each such item becomes a row.
    """
    parts = parse(bytes(aside.body), clock.now())
    are_in, _ = ingest_each(aside, parts, is_last=True)
    if are_in or len(parts) > 1:
        aside.settle()
    return are_in


def ingest_each(
    source: Callback | SetAside, parts: Sequence[Part], *, is_last: bool
) -> tuple[bool, str | None]:
    """Ingest each item in its own transaction, so that a bad one affects no other.

    An item that fails in the last try is set aside. If the source is gone, the other items are dropped.
    Returns whether all items are in, and the last error.
    """
    are_in, problem = True, None
    for part in parts:
        try:
            are_in &= write(partial(_ingest_item_alone, source, part), *_keys(part)) is None
        except GoneError:
            logger.info("%s is gone", source.id)
            return are_in, problem
        except Exception as error:
            if is_outage(error):
                raise
            logger.exception("an item of %s was not ingested", source.id)
            are_in, problem = False, f"{type(error).__name__}: {error}"
            if is_last:
                with writing():
                    if _is_there(source) and _is_wanted(source, part):
                        SetAside.record(Reason.FAILED, part.body(), people_of(part), error=problem)
    return are_in, problem


def _ingest_item_alone(source: Callback | SetAside, part: Part) -> Reason | None:
    """Like ``_ingest_item``, in a batch of one. Raises GoneError if the source is no longer there."""
    if not _is_there(source):
        raise GoneError
    if not _is_wanted(source, part):
        return None
    with counting() as count:
        own = [part.item] if isinstance(part.item, StatusUpdate) else []
        return _ingest_item(part, count, SentMessages(own), source)


def _is_there(source: Callback | SetAside) -> bool:
    """Whether it is still there. An erasure waits for the end of the caller's transaction."""
    return type(source).by_id(source.id) is not None


def _is_wanted(source: Callback | SetAside, part: Part) -> bool:
    """Whether the item is about nobody who was erased since, in the caller's transaction."""
    at = source.created_at if isinstance(source, SetAside) else source.received_at
    return any(ErasedPeople([part]).without([part], at))


def _is_too_old(item: Item, source: Callback | SetAside) -> bool:
    """Whether an item was old when it arrived. An operator may replay old ones.

    What a newly connected number brings from the network's app may be old.
    """
    if isinstance(source, SetAside):
        return False
    before = min(source.received_at, clock.certain()) - MOST_AGE_MS
    if not 0 < getattr(item, "at", 0) < before:
        return False
    number = None
    if isinstance(item, AppContact) or (isinstance(item, AppMessage) and item.is_history):
        number = Number.find_connected(item.phone_number_id)
    return number is None or (number.activated_at or 0) < before


def _ingest_item(
    part: Part, count: UsageCount, sent: SentMessages, source: Callback | SetAside
) -> Reason | None:
    """Ingest one item, or set it aside, in the caller's transaction. Returns why it was set aside.

    The reason and its row are in one transaction, so the message cannot become known in between.
    """
    with acting(NETWORK):
        reason = _apply_item(part, count, sent, source)
    if reason is not None:
        names = ("phone_number_id", "wa_message_id", "error")
        known = {name: getattr(part.item, name, None) for name in names}
        SetAside.record(reason, part.body(), people_of(part), **known)
    return reason


def _apply_item(
    part: Part, count: UsageCount, sent: SentMessages, source: Callback | SetAside
) -> Reason | None:
    reason: Reason | None = None
    match part.item:
        case _ if _is_too_old(part.item, source):
            reason = Reason.TOO_OLD
        case Unreadable():
            reason = Reason.UNREADABLE
        case InboundMessage() as message:
            reason = _receive(message, count)
        case AppMessage() | AppContact() | CallUpdate() as item:
            reason = _record(item, count)
        case StatusUpdate() as status:
            reason = _update_status(status, count, sent)
        case PersonUpdate() as news:
            reason = None if contacts.apply_update(news) else Reason.FOREIGN_NUMBER
        case AccountUpdate() as update:
            number_status.apply_account_update(update)
        case PlatformNotice() as notice:
            if number_status.apply_notice(notice) and notice.template is not None:
                template_copy.apply_change(notice.waba_id, notice.template, notice.at)
    return reason


def _receive(item: InboundMessage, count: UsageCount) -> Reason | None:
    number = Number.find_connected(item.phone_number_id)
    if number is None:
        return Reason.FOREIGN_NUMBER
    stored = Message.stored(number, item.wa_message_id)
    if stored.id is not None and stored.origin != Origin.HISTORY:
        return None
    at = item.at or clock.now()
    contact = contacts.sender(number, item, at)
    if stored.id is None:
        message = _write(number, item, at, contact)
        if item.change is not None:
            corrections.apply(message)
        message = corrections.apply_early(message, stored.early)
    else:
        message = Message.get_by_id(stored.id)
        message.fill(item.type, item.content)
        message.leave_history(None, opens_window=item.opens_window)
    at = message.created_at
    count.add(message)
    count.store(message)
    emit_message(EventKind.MESSAGE_RECEIVED, message, at, contact=contact)
    if item.change is not None:
        emit_message(EventKind(f"message.{item.change}"), message, at, contact=contact)
    return None


def _write(number: Number, item: InboundMessage, at: int, contact: Contact | None) -> Message:
    if contact is not None:
        # The times of a conversation never decrease.
        at = max(at, contact.last_message_at(Direction.INBOUND) or at)
    return Message.write_inbound(
        number,
        None if contact is None else contact.id,
        wa_message_id=item.wa_message_id,
        sender=item.sender,
        type_=item.type,
        body=item.content,
        at=at,
        quoted_wa_id=item.target,
        network_at=item.at or None,
        group_id=item.group,
        opens_window=None if item.opens_window else 0,
        change=item.change,
    )


def _record(item: AppMessage | AppContact | CallUpdate, count: UsageCount) -> Reason | None:
    number = Number.find_connected(item.phone_number_id)
    if number is None:
        return Reason.FOREIGN_NUMBER
    if isinstance(item, AppMessage):
        app_sync.record_message(number, item, count)
    elif isinstance(item, CallUpdate):
        calls.record(number, item)
    else:
        app_sync.record_contact(number, item)
    return None


def _update_status(item: StatusUpdate, count: UsageCount, sent: SentMessages) -> Reason | None:
    if record_status(item, sent, count):
        return None
    if Number.find_connected(item.phone_number_id) is None:
        return Reason.FOREIGN_NUMBER
    reference = item.reference or ""
    if not (reference.startswith("msg_") and clock.is_id(reference)):
        return Reason.UNKNOWN_MESSAGE
    # A message is stored before it is sent. So it was removed, it is newer than a restored backup, or it is
    # another number's.
    logger.info("a status is ignored: its number has no message %s", reference)
    return None
