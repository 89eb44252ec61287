"""Requests of one account that take turns, so that many at once do not delay those of other accounts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from starlette.types import Message, Send


class Turn:
    """The turn of a request, which has it from the beginning."""

    def __init__(self, turns: asyncio.Semaphore) -> None:
        self._turns = turns
        self._is_mine = True

    def between(self, send: Send) -> Send:
        """``send``, without the turn while the client takes the message: a slow client keeps no turn.

        The request waits for another turn before it makes the next part of its response.
        """

        async def send_between(message: Message) -> None:
            self.end()
            await send(message)
            if message.get("more_body", False):
                await self._turns.acquire()
                self._is_mine = True

        return send_between

    def end(self) -> None:
        """End the turn, if it has not ended."""
        if self._is_mine:
            self._is_mine = False
            self._turns.release()


class Turns:
    """Lets ``each`` requests of an account run at a time. Further ones wait in their order."""

    def __init__(self, each: int) -> None:
        self._each = each
        # Those of accounts without a request are dropped.
        self._accounts: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, account_id: str) -> AsyncIterator[Turn]:
        """Wait for a turn of the account, which ends at the latest with the block."""
        turns = self._accounts.setdefault(account_id, asyncio.Semaphore(self._each))
        await turns.acquire()
        turn = Turn(turns)
        try:
            yield turn
        finally:
            turn.end()
