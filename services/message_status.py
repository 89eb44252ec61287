"""Records the results of an outbound message: the network's acceptance, and the later statuses.

A status can arrive before the response to the send. It finds its message by our identifier, which the
send passed as a reference. Both orders lead to the same steps, events and status
(docs/decisions/0016-statuses-in-any-order.md).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import starmap

from models import clock
from models.database import writing
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook, webhooks_of, webhooks_of_messages
from models.messages.contact import Contact, Source, contacts_of_messages
from models.messages.message import UNSETTLED, Failure, Message, MessageStatus
from models.numbers.number import Number, NumberStatus, identifiers
from models.reports.usage import UsageCount
from networks.interface import Acceptance
from networks.items import StatusUpdate
from networks.registry import network_of
from resources.message import message_object
from services import contacts, number_status, template_copy
from services.network_failures import failure_of
from webhooks.kinds import EventKind


def record_acceptance(
    message: Message, accepted: Acceptance, contact: Contact | None = None
) -> Message:
    """Record the network's acceptance of a send, in the caller's transaction. Returns the fresh row.

    ``contact`` spares a query if the caller has read the message's contact already. If the message was erased
    in the meantime, nothing is written, and the caller's row is returned with the network's identifier.
    """
    for fresh in record_acceptances([(message, accepted, contact)]):
        return fresh
    message.wa_message_id = accepted.wa_message_id
    return message


def record_acceptances(
    accepted: Sequence[tuple[Message, Acceptance, Contact | None]],
) -> list[Message]:
    """Record the acceptance of messages of one account, at least one. Returns the fresh rows."""
    webhooks = webhooks_of.execute(accepted[0][0].account_id)
    rows = Message.rows_sent([], [message.id for message, *_ in accepted])
    fresh, now = {row.id: row for row in rows}, clock.now()
    learned = [
        (fresh[row.id], given, _learn(fresh[row.id], given, contact, now))
        for row, given, contact in accepted
        if row.id in fresh
    ]
    _accept(learned, now, webhooks)
    return [row for row, *_ in learned]


def _learn(
    message: Message, accepted: Acceptance, contact: Contact | None, now: int
) -> Contact | None:
    """The message's contact, with what the acceptance tells about the person. ``contact`` spares a query."""
    if contact is None or contact.id != message.contact_id:
        contact = Contact.by_id(message.contact_id)
    identity = {"phone": accepted.wa_id, "user_id": accepted.user_id}
    if contact is not None and contact.differing(identity):
        # A copy, because a run that is rolled back must not leave its changes for the next run.
        contact = Contact(**contact.__data__)
        with writing():
            contacts.learn(contact, identity, Source.SEND, now)
    return contact


class SentMessages:
    """The messages of these statuses, with their contacts and the webhooks of their accounts.

    Reads all of them at once, in the caller's transaction.
    """

    def __init__(self, updates: Sequence[StatusUpdate]) -> None:
        network_ids = [update.wa_message_id for update in updates]
        ids = [update.reference for update in updates if update.reference]
        numbers = identifiers.execute([update.phone_number_id for update in updates])
        webhooks = webhooks_of_messages.execute(network_ids, ids)
        contacts = contacts_of_messages.execute(network_ids, ids)
        self._messages = {message.id: message for message in Message.rows_sent(network_ids, ids)}
        self._by_network_id = defaultdict[str | None, list[Message]](list)
        for message in self._messages.values():
            self._by_network_id[message.wa_message_id].append(message)
        self._numbers = set(numbers)
        self.webhooks = list(webhooks)
        self.contacts = {contact.id: contact for contact in contacts}

    def find(self, update: StatusUpdate) -> Message | None:
        """The message of a status, by the network's identifier, otherwise by ours.

        Every row of the status's number counts, because the number may have changed accounts since.
        """
        phone, theirs = update.phone_number_id, self._by_network_id[update.wa_message_id]
        named = self._messages.get(update.reference or "")
        found = theirs if named is None else [*theirs, named]
        message = next((m for m in found if (phone, m.number_id) in self._numbers), None)
        if message is not None and message.wa_message_id is None:
            # A later status may not name the reference.
            theirs.append(message)
        return message


def record_status(update: StatusUpdate, sent: SentMessages, count: UsageCount) -> bool:
    """Record a status of the network, with its event and its price, in the caller's transaction.

    Returns False if its message is unknown.
    """
    message = sent.find(update)
    if message is None:
        return False
    # Of a voice message, played means read too.
    status = MessageStatus.READ if update.status == "played" else MessageStatus(update.status)
    webhooks = [each for each in sent.webhooks if each.account_id == message.account_id]
    at = update.at or clock.now()
    error = failure_of(update.errors, update.error_details) if update.errors else None
    contact = sent.contacts.get(message.contact_id or "")
    if contact is not None:
        contacts.learn(contact, vars(update.person), Source.STATUS, at)
    if message.wa_message_id is None:
        _accept([(message, Acceptance(update.wa_message_id), contact)], at, webhooks)
    if update.errors:
        _apply_errors(message, update, status, at)
    shown_at = message.placed(status, at)
    before = message.pricing_json
    pricing = vars(update.pricing) if update.pricing else None
    message.advance(status, at=at, error=error, pricing=pricing, network_at=update.at or None)
    if message.pricing_json != before:
        count.add(message, before)
    # The acceptance is always recorded first and has emitted message.sent.
    if status is not MessageStatus.SENT:
        kind = EventKind(f"message.{status}")
        emit_message(kind, message, shown_at, error, contact=contact, webhooks=webhooks)
    return True


def _apply_errors(message: Message, update: StatusUpdate, status: MessageStatus, at: int) -> None:
    """Change what the errors of a status are about, like those of a response to a send."""
    number, codes = Number.get_by_id(message.number_id), dict(update.errors)
    network = network_of(number)
    is_new = status is MessageStatus.FAILED and not message.has_been(status)
    if is_new and number.status == NumberStatus.ACTIVE:
        for failure in filter(None, starmap(network.classify, update.errors)):
            number_status.apply_news(number, failure, update.at)
    if network.opt_out in codes:
        contacts.opt_out(message, at)
    if is_new and not network.template_differs.isdisjoint(codes):
        template_copy.note_difference(number)


def _accept(
    accepted: Sequence[tuple[Message, Acceptance, Contact | None]],
    at: int,
    webhooks: Iterable[Webhook],
) -> None:
    shown = [
        (message, message.placed(MessageStatus.SENT, at), contact)
        for message, _, contact in accepted
    ]
    words = [(row, given.wa_message_id, given.message_status) for row, given, _ in accepted]
    Message.accept_many(words, at)
    _emit(EventKind.MESSAGE_SENT, shown, webhooks)


def give_up(message_id: str) -> None:
    """Fail a message whose outcome stayed unknown for 24 hours (ADR 5)."""
    error = ("outcome_unknown", "The messaging network reported no outcome within 24 hours.")
    with writing():
        message, now = Message.by_id(message_id), clock.now()
        # The outcome may have become known after the query, or the person was erased.
        if message is not None and message.status in UNSETTLED:
            message.advance(MessageStatus.FAILED, at=now, error=error)
            emit_message(EventKind.MESSAGE_FAILED, message, now)


def emit_message(
    kind: EventKind,
    message: Message,
    at: int | None = None,
    error: Failure | None = None,
    *,
    contact: Contact | None = None,
    webhooks: Iterable[Webhook] | None = None,
) -> None:
    """Emit ``message.*``, at most once for each message and kind.

    ``error`` replaces the message's own, which is missing if the message was delivered after all.
    ``contact`` and ``webhooks`` spare a query if the caller has read the message's contact or the
    account's webhooks already.
    """
    if webhooks is None:
        webhooks = webhooks_of.execute(message.account_id)
    _emit(kind, [(message, at, contact)], webhooks, error)


def _emit(
    kind: EventKind,
    shown: Sequence[tuple[Message, int | None, Contact | None]],
    webhooks: Iterable[Webhook],
    error: Failure | None = None,
) -> None:
    """Emit an event about each message, with its time and its contact."""
    events = []
    for message, at, known in shown:
        contact = known
        if known is None and message.contact_id is not None:
            contact = Contact.by_id(message.contact_id)
            if contact is None:
                # The person is erased, and the message is about to be (models.messages.erasure).
                continue
        event = Event.made(
            message.account_id,
            kind,
            message_object(message, contact, error),
            number_id=message.number_id,
            subject_id=message.id,
            at=at,
            once=True,
        )
        events.append(event)
    Event.append_many(events)
    listening = list(webhooks)
    for event in events:
        Delivery.schedule(event, listening)
