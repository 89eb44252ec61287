"""Blocks of the dashboard's stream other than events: delivery attempts and notices of WhatsApp.

They have no id. A browser that reconnects receives the events that it missed, but only new blocks.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from models.clock import timestamp
from models.deliveries.attempt import Attempt
from models.numbers.notice import Notice
from models.numbers.number import Number
from models.reports.live_activity import (
    Latest,
    RecordedAttempt,
    recorded_attempts,
    recorded_notices,
)

logger = logging.getLogger(__name__)

# The name of a block about what the stream does not contain.
OMITTED = "omitted"


class Source(StrEnum):
    """A source of blocks other than events. The value is the first part of its blocks' names."""

    ATTEMPTS = "attempt"
    NOTICES = "notice"


class Block(NamedTuple):
    """One block of a stream. ``kind`` is the name of the server-sent event."""

    kind: str
    text: str


# A block with its account.
Owned = tuple[str, Block]
Blocks = dict[tuple[Source, str], list[Block]]


class LiveBlocks:
    """Reads new attempts and notices for the streams of this process.

    A source that cannot be read yields no blocks. The other source and the events are not affected.
    """

    def __init__(self) -> None:
        # What finds the new rows of a source, reads those of some accounts, and makes the block of a row.
        self._sources: dict[Source, tuple[Latest, Callable[..., Any], Callable[[Any], Owned]]] = {
            Source.ATTEMPTS: (Latest(Attempt, "att"), recorded_attempts, _of_attempt),
            Source.NOTICES: (Latest(Notice, "ntc"), recorded_notices, _of_notice),
        }
        # Sources whose last read failed.
        self._failing: set[Source] = set()

    def read(self, wanted: Mapping[Source, set[str]]) -> Blocks:
        """The new blocks by source and account. ``wanted`` are the accounts by source."""
        blocks: Blocks = defaultdict(list)
        for source, (latest, recorded, block) in self._sources.items():
            try:
                for row in latest.read(partial(recorded, account_ids=wanted.get(source, set()))):
                    account_id, made = block(row)
                    blocks[source, account_id].append(made)
            except Exception:
                # Only the first error until it works again, because polls are frequent.
                if source not in self._failing:
                    logger.exception("%ss cannot be read for the Live page", source)
                self._failing.add(source)
            else:
                self._failing.discard(source)
        return blocks


def _of_attempt(row: RecordedAttempt) -> Owned:
    end = "succeeded" if row.success else "failed"
    data = {
        "id": row.id,
        "timestamp": timestamp(row.ended_at),
        "deliveryId": row.delivery_id,
        "event": row.event_kind,
        "url": row.url,
        "attempt": row.number,
        "statusCode": row.status_code,
        "error": row.error,
        "durationMs": row.duration_ms,
    }
    return row.account_id, block_of(f"{Source.ATTEMPTS}.{end}", data)


def _of_notice(row: tuple[Notice, Number]) -> Owned:
    notice, number = row
    data = {
        "id": notice.id,
        "timestamp": timestamp(notice.at),
        "numberId": number.id,
        # A notice without a number is about the business account.
        "phoneNumber": None if notice.number_id is None else number.phone_number,
        "field": notice.field,
        "event": notice.event,
    }
    return str(number.account_id), block_of(Source.NOTICES, data)


def block_of(kind: str, data: dict[str, Any]) -> Block:
    return Block(kind, f"event: {kind}\ndata: {json.dumps(data)}\n\n")


# Events before it may be missing: the page's position is of another history, or has expired.
LOST = block_of(OMITTED, {"kind": "events"})
