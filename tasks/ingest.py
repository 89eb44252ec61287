"""Ingesting stored callbacks: each item in a transaction of its own (design, section 2.2)."""

import logging

from models import clock
from models.callback import Callback
from models.database import writing
from models.message import Message, MessageStatus
from models.number import Number, NumberStatus
from networks.callbacks import (
    AccountUpdate,
    CallbackUnreadableError,
    InboundMessage,
    Item,
    StatusUpdate,
    parse,
)
from tasks import deliver, lifecycle, outcome
from tasks.emit import emit_message
from tasks.queue import huey
from webhooks.kinds import EventKind

logger = logging.getLogger(__name__)

# After so many the sweep leaves a callback alone.
MAX_TRIES = 10

STATUS_OF = {
    "sent": MessageStatus.SENT,
    "delivered": MessageStatus.DELIVERED,
    "read": MessageStatus.READ,
    "played": MessageStatus.READ,
    "failed": MessageStatus.FAILED,
}
# What an account update means for the numbers of the account. A ban state decides where there is one.
NUMBER_STATUS_OF = {
    ("DISABLED_UPDATE", "DISABLE"): NumberStatus.BANNED,
    ("DISABLED_UPDATE", "REINSTATE"): NumberStatus.ACTIVE,
    ("ACCOUNT_RECONNECTED", None): NumberStatus.ACTIVE,
    ("PARTNER_REMOVED", None): NumberStatus.DISCONNECTED,
    ("PARTNER_APP_UNINSTALLED", None): NumberStatus.DISCONNECTED,
    ("ACCOUNT_OFFBOARDED", None): NumberStatus.DISCONNECTED,
    ("ACCOUNT_DELETED", None): NumberStatus.DISCONNECTED,
}


@huey.task()
def ingest_callback(callback_id: str) -> None:
    """Ingest one stored callback. Doing it again changes nothing."""
    callback = Callback.find_waiting(callback_id)
    if callback is None:
        return
    try:
        items = parse(bytes(callback.body))
    except CallbackUnreadableError as error:
        logger.warning("callback %s is unreadable: %s", callback_id, error)
        callback.finish()
        return
    failures = [reason for item in items if (reason := _try_item(callback_id, item))]
    if failures:
        callback.note_failure(failures[0])
    else:
        callback.finish()


def enqueue(callback_id: str) -> None:
    """Have a worker ingest a stored callback soon; the sweep finds it if the queue fails."""
    try:
        ingest_callback(callback_id)
    except Exception:
        logger.exception("callback %s not queued", callback_id)


def _try_item(callback_id: str, item: Item) -> str | None:
    """Ingest one item. Returns why it failed, so that one bad item leaves the others alone."""
    try:
        _ingest(item)
    except Exception as error:
        logger.exception("an item of callback %s was not ingested", callback_id)
        return f"{type(error).__name__}: {error}"
    return None


def _ingest(item: Item) -> None:
    match item:
        case InboundMessage():
            _receive(item)
        case StatusUpdate():
            _update_status(item)
        case AccountUpdate():
            _update_numbers(item)


def _receive(item: InboundMessage) -> None:
    number = Number.find_connected(item.phone_number_id)
    if number is None:
        logger.warning("inbound message for a number that is not ours: %s", item.phone_number_id)
        return
    at = item.at or clock.now()
    with writing():
        message = Message.write_inbound(
            number,
            wa_message_id=item.wa_message_id,
            sender=item.sender,
            type_=item.type,
            body=item.content,
            at=at,
        )
        waiting = message is not None and emit_message(EventKind.MESSAGE_RECEIVED, message, at)
    if waiting:
        deliver.wake()


def _update_status(item: StatusUpdate) -> None:
    status = STATUS_OF.get(item.status)
    message = Message.find_sent(item.phone_number_id, item.wa_message_id, item.reference)
    if status is None or message is None:
        logger.warning("status %r of number %s is not ours", item.status, item.phone_number_id)
        return
    outcome.record_status(message, status, item.wa_message_id, item.error, item.at or clock.now())


def _update_numbers(item: AccountUpdate) -> None:
    status = NUMBER_STATUS_OF.get((item.event, item.detail))
    if status is None:
        logger.info("account update %s %s changes no number", item.event, item.detail)
        return
    for number in Number.of_waba(item.waba_id):
        # A number that this account lost may be another account's by now.
        current = Number.find_connected(number.phone_number_id) == number
        if current and number.status != NumberStatus.PROVISIONING:
            lifecycle.change_status(number, status)
