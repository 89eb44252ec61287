"""A network that only returns the status of numbers."""

import asyncio
from collections.abc import Callable

from models.database import database
from networks.exceptions import NetworkError
from networks.interface import NumberProfile, Sender
from networks.whatsapp.numbers import state_of
from networks.whatsapp.rules import Rules


class AskedPlatform(Rules):
    """Returns the status of numbers. ``while_asked`` runs before the response."""

    def __init__(self) -> None:
        self.status, self.phone_number = "CONNECTED", ""
        self.news: dict[str, str | None] = {}
        self.error: NetworkError | None = None
        self.while_asked: Callable[[], object] = lambda: None
        self.asked: list[str] = []

    async def get_number(self, sender: Sender) -> NumberProfile:
        self.asked.append(sender.phone_number_id)
        assert not database.in_transaction(), "no transaction is held while the network answers"
        await asyncio.to_thread(self.while_asked)
        if self.error:
            raise self.error
        said = {"display_name": "Acme"} | self.news
        state = state_of(self.status)
        return NumberProfile(
            sender.phone_number_id, self.phone_number, state=state, status=self.status, **said
        )
