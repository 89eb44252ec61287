"""What a message refers to: uploaded files, and the message of a reaction.

The platform accepts the message first (Cloud API, Reaction messages; Error codes, 131053).
"""

from __future__ import annotations

from sandbox import clock, media
from sandbox.entities import Number
from sandbox.network import Network
from sandbox.orders import Order
from sandbox.people import Person

NO_MESSAGE, NO_FILE = 131009, 131053
# Seconds after which nobody can react to a message.
OLDEST = 30 * media.DAY


def failure(network: Network, number: Number, order: Order, person: Person) -> int | None:
    """The code with which a message fails whose file or message is not there. None for any other one."""
    if order.type == "reaction" and not _is_there(network, number, order, person):
        return NO_MESSAGE
    files = media.files_in(order.type, order.content)
    usable = (media.is_usable(network, number, kind, file) for kind, file in files)
    return None if all(usable) else NO_FILE


def _is_there(network: Network, number: Number, order: Order, person: Person) -> bool:
    """Whether the message is in this conversation, young enough, and no reaction itself."""
    message_id = order.content["message_id"]
    sent, received = network.messages.get(message_id), network.inbound.get(message_id)
    if sent is not None:
        kind: object = sent.type
        at, place = sent.accepted_at, (sent.number_id, sent.to)
    elif received is not None:
        kind, at = received.item.get("type"), received.at
        place = received.number_id, received.item.get("group_id") or received.person
    else:
        return False
    names = [order.to] if order.to_group else [person.key, *person.former]
    places = [(number.id, name) for name in names]
    return kind != "reaction" and place in places and clock.now() - at < OLDEST
