"""Requests of one account that take turns, so that many at once do not delay those of other accounts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from starlette.types import Message, Send


class Turn:
    """The turn of a request."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack

    def ended_by(self, send: Send) -> Send:
        """``send``, which ends the turn when the response begins: a slow client keeps no turn."""

        async def send_and_end(message: Message) -> None:
            await self._stack.aclose()
            await send(message)

        return send_and_end


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
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(turns)
            yield Turn(stack)
