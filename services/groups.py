"""Replies to messages that were written in a group: they go to the group, never to the person alone."""

from models.errors import ConflictError
from models.messages.message import Message
from models.numbers.number import Number
from networks.interface import Acceptance, Groups, Network, OutboundMessage, Sender
from networks.registry import network_of, offered


def group_of(target: Message, number: Number, type_: str) -> str | None:
    """The group of a message that a request of this type replies or reacts to, None without a group.

    Raises ConflictError if the network of the number offers no messages to groups.
    """
    if target.group_id is not None and not isinstance(network_of(number), Groups):
        place = "reaction" if type_ == "reaction" else "context"
        raise ConflictError(
            f"Request body, {place}.message_id: {target.id} was written in a group, and the messaging network"
            f" of the number {number.id} does not send to groups. Nothing was sent. Leave it out to write to"
            " the person alone.",
            field=f"/{place}/message_id",
        )
    return target.group_id


async def send(network: Network, sender: Sender, message: OutboundMessage) -> Acceptance:
    """Send a message to its person, or to its group."""
    if message.group is None:
        return await network.send(sender, message)
    return await offered(Groups, network).send_to_group(sender, message)
