"""Reads the templates of one name from the network before the stored copy refuses a request about them.

The copy may be out of date: a callback was lost, or the list was read up to an hour ago. So its refusal only
counts after a read. Concurrent sends share one read. The reads of a business account are limited, because the
platform limits its calls. The platform decides on a request whose template could not be read.
"""

import asyncio
import logging
import time
from collections import deque
from functools import partial

from models.database import commit, read
from models.numbers.number import Number
from networks.exceptions import NetworkError
from networks.interface import Sender, Templates
from networks.registry import network_of
from services import template_copy

logger = logging.getLogger(__name__)

# A client waits for the read and then for the send.
READ_SECONDS = 3.0
# The reads of a business account in a process, within this time. The platform allows an app 5,000 calls
# an hour for each business account, and 200 before that has a registered number, when nothing is sent either.
MOST_READS, WITHIN_SECONDS = 20, 60.0

Key = tuple[str, str, str]
_running: dict[Key, asyncio.Task[bool]] = {}
# When the last reads of each business account began, by time.monotonic().
_begun: dict[str, deque[float]] = {}


async def read_again(number: Number, name: str) -> bool:
    """Update the copy of the templates with this name. False if it may be as old as before."""
    key = number.account_id, number.waba_id, name
    if (task := _running.get(key)) is None:
        if not _may_begin(number.waba_id):
            return False
        task = _running[key] = asyncio.create_task(_read(number, name))
        task.add_done_callback(lambda _: _running.pop(key, None))
    # The end of one send must not end the read of the others.
    return await asyncio.shield(task)


def _may_begin(waba_id: str) -> bool:
    now = time.monotonic()
    begun = _begun.setdefault(waba_id, deque(maxlen=MOST_READS))
    if len(begun) == MOST_READS and now - begun[0] < WITHIN_SECONDS:
        return False
    begun.append(now)
    return True


async def _read(number: Number, name: str) -> bool:
    network = network_of(number)
    if not isinstance(network, Templates):
        return False
    seen = await read(partial(template_copy.versions_of, number, name))
    try:
        async with asyncio.timeout(READ_SECONDS):
            sender = Sender(number.phone_number_id, number.access_token)
            listed = await network.find_templates(sender, number.waba_id, name)
    except (NetworkError, TimeoutError) as error:
        code = getattr(error, "code", "timeout")
        logger.warning("a template of number %s could not be read: %s", number.id, code)
        return False
    return await commit(partial(template_copy.update_named, number, name, seen, listed))
