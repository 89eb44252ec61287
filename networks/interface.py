"""What the rest of the gateway may ask of a messaging network.

Every method raises a class of networks.errors.
"""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Sender:
    """The number that asks: the network's identifier for it and its token."""

    phone_number_id: str
    access_token: str


@dataclass(frozen=True)
class OutboundMessage:
    """A message to send. ``content`` stands under the key named like ``type``.

    ``reference`` comes back in status callbacks, so that they find their message even when the answer
    to the send was lost.
    """

    to: str
    type: str
    content: dict[str, Any]
    reference: str


@dataclass(frozen=True)
class NumberProfile:
    """What the network knows of a number. ``status`` is the network's word, for example CONNECTED."""

    phone_number_id: str
    phone_number: str
    display_name: str | None
    status: str


class Network(Protocol):
    """A messaging network."""

    def send(self, sender: Sender, message: OutboundMessage) -> str:
        """Hand over a message. Returns the network's identifier of it."""

    def exchange_code(self, code: str) -> str:
        """Turn the code of the embedded signup (single use, 30 s) into the customer's token."""

    def list_numbers(self, waba_id: str, access_token: str) -> list[NumberProfile]:
        """The numbers of a business account that the token may see."""

    def subscribe(self, waba_id: str, access_token: str) -> None:
        """Have the callbacks of a business account sent to us."""

    def register(self, sender: Sender, pin: str) -> None:
        """Register a number for sending, with its two-step PIN."""

    def get_number(self, sender: Sender) -> NumberProfile:
        """What the network says of the number now."""
