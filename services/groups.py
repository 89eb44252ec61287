"""Replies to messages that were written in a group: they go to the group, never to the person alone."""

from models.errors import ConflictError
from models.messages.contact import Contact
from models.messages.message import Message
from models.messages.template import Template
from models.numbers.number import Number
from networks.interface import Acceptance, Groups, Network, OutboundMessage, Sender
from networks.registry import network_of, offered
from services.templates import MARKETING


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


def check(target: Message, contact: Contact, type_: str) -> None:
    """Check the recipient of a message to the group of ``target``. Raises ConflictError.

    The consent of ``contact`` is checked, so nobody else may be its recipient.
    """
    if target.contact_id != contact.id:
        place = "reaction" if type_ == "reaction" else "context"
        raise ConflictError(
            f"Request body, to: the contact {contact.id} is not the one of {target.id} in"
            f" {place}.message_id, which is in a group. Nothing was sent. Name the person of that message, or"
            f" leave out {place} to write to the other one alone.",
            field="/to",
        )


def check_template(target: Message, template: Template | None) -> None:
    """Check a template to the group of ``target``, None if it is not known. Raises ConflictError.

    The consent of the other people in the group is unknown, so it gets no marketing.
    """
    if template is None or template.category == MARKETING:
        problem = "has no known category yet" if template is None else f"is {MARKETING}"
        raise ConflictError(
            f"Request body, template.name: the template {problem}, and context.message_id {target.id} is in"
            " a group, whose members did not all agree to marketing. Nothing was sent. Send it to each person"
            " alone, or choose a template of another category.",
            field="/template/name",
        )


async def send(network: Network, sender: Sender, message: OutboundMessage) -> Acceptance:
    """Send a message to its person, or to its group."""
    if message.group is None:
        return await network.send(sender, message)
    return await offered(Groups, network).send_to_group(sender, message)
