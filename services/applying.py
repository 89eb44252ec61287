"""Applies an item of a callback: changes messages, people, numbers and templates, and emits the events.

Everything runs in the caller's transaction (services/ingestion.py).
"""

import logging

from models import clock
from models.messages import app_message
from models.messages.callback import Callback, Reason, SetAside
from models.messages.contact import Contact
from models.messages.message import Direction, Message, Origin
from models.numbers.number import Number
from models.reports.usage import UsageCount
from networks.items import (
    AccountUpdate,
    AppContact,
    AppMessage,
    CallUpdate,
    InboundMessage,
    Item,
    PersonUpdate,
    PlatformNotice,
    StatusUpdate,
    Unreadable,
)
from services import app_sync, calls, contacts, corrections, number_status, template_copy
from services.message_status import SentMessages, emit_message, record_status
from webhooks.kinds import EventKind

logger = logging.getLogger(__name__)

# The network repeats a callback for seven days. An older item is a replay of somebody else: it must not bring
# an erased person back.
MOST_AGE_MS = 8 * 24 * 3_600_000


def apply(
    item: Item, count: UsageCount, sent: SentMessages, source: Callback | SetAside
) -> Reason | None:
    """Apply an item in the caller's transaction. Returns why it must be set aside, otherwise None.

    Applying it again changes nothing.
    """
    reason: Reason | None = None
    match item:
        case _ if _is_too_old(item, source):
            reason = Reason.TOO_OLD
        case Unreadable():
            reason = Reason.UNREADABLE
        case InboundMessage() as message:
            reason = _receive(message, count)
        case AppMessage() | AppContact() | CallUpdate():
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
        app_message.fill(message, item.type, item.content)
        app_message.leave_history(message, None, opens_window=item.opens_window)
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
