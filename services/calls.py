"""Emits call.updated. A call has no row: its events hold all that the network sent.

They are events about the person, so an erasure removes them. It runs in the caller's transaction.
"""

from models import clock
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.webhook import webhooks_of
from models.messages import identity
from models.messages.contact import Contact, Source
from models.numbers.number import Number
from networks.items import CallUpdate
from resources.call import call_id, call_object
from services import consent, contacts
from webhooks.kinds import EventKind


def record(number: Number, item: CallUpdate) -> None:
    """Emit the event of a change of a call, once."""
    contact = _contact(number, item)
    event = Event.append(
        number.account_id,
        EventKind.CALL_UPDATED,
        call_object(number, item, contact),
        number_id=number.id,
        subject_id=call_id(item) if contact is None else contact.id,
        at=item.at or None,
        once=f"{number.id}:{call_id(item)}",
    )
    Delivery.schedule(event, webhooks_of.execute(number.account_id))


def _contact(number: Number, item: CallUpdate) -> Contact | None:
    if item.person.phone is None and item.person.user_id is None:
        return None
    at = item.at or clock.now()
    contact, is_changed = identity.record(number, vars(item.person), Source.NETWORK, at)
    if contacts.follow(contact) or is_changed:
        consent.emit_contact(contact, number)
    return contact
