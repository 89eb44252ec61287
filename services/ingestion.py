"""Ingests callbacks: many in one transaction, and item by item if that fails.

An item that cannot be ingested is set aside. An operator sees it there and can replay it
(docs/decisions/0016-statuses-in-any-order.md).
"""

import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial

from opentelemetry.trace import Span, SpanKind

from models import clock
from models.accounts.actor import NETWORK, acting
from models.database import write, writing
from models.database.outage import is_outage
from models.messages.callback import Callback, Reason, SetAside
from models.reports.usage import UsageCount, counting
from networks.items import (
    AppContact,
    AppMessage,
    CallUpdate,
    InboundMessage,
    Part,
    PersonUpdate,
    StatusUpdate,
)
from networks.registry import parse
from services import applying, telemetry
from services.mentions import ErasedPeople, people_of
from services.message_status import SentMessages

logger = logging.getLogger(__name__)

# The most callbacks of a transaction, and the time after which it takes no further one. All writers of SQLite
# wait for its end.
MOST_TOGETHER, MOST_SECONDS = 50, 0.03

# The items that are about a person.
OF_PEOPLE = (InboundMessage, AppMessage, AppContact, CallUpdate, StatusUpdate, PersonUpdate)
# A callback and its items.
Read = tuple[Callback, Sequence[Part]]


class GoneError(Exception):
    """The callback was removed after the claim.

    Another worker ingested it, or a person in it was erased and the rest of it is another callback.
    """


def read(callbacks: Iterable[Callback]) -> list[Read]:
    """These callbacks with their items."""
    now = clock.now()
    return [(callback, parse(bytes(callback.body), now)) for callback in callbacks]


def ingest_together(callbacks: Sequence[Read], *, are_stored: bool) -> int:
    """Ingest the first callbacks in one transaction. Returns how many, at least one.

    Ingesting one again changes nothing. Stored ones are removed. Raises GoneError if one is no longer there.
    """

    def ingest() -> int:
        done: list[str] = []
        all_parts = [part for _, parts in callbacks for part in parts]
        items = (part.item for part in all_parts)
        erased = ErasedPeople(all_parts)
        sent = SentMessages([item for item in items if isinstance(item, StatusUpdate)])
        # Not before: the first query may have waited for locks.
        until = time.monotonic() + MOST_SECONDS
        with counting() as count:
            for callback, parts in callbacks:
                with ingesting(callback, parts):
                    for part in erased.without(parts, callback.received_at):
                        _ingest_item(part, count, sent, callback)
                done.append(callback.id)
                if time.monotonic() >= until:
                    break
            if are_stored and Callback.finish(*done) < len(done):
                raise GoneError
        return len(done)

    return write(ingest, *keys_of(callbacks))


def keys_of(callbacks: Sequence[Read]) -> list[str]:
    """The keys of the messages and people that these callbacks change (models.database.write)."""
    return sorted({key for _, parts in callbacks for part in parts for key in _keys(part)})


def ingesting(callback: Callback, parts: Sequence[Part]) -> AbstractContextManager[Span]:
    """The span of ingesting a callback."""
    about: dict[str, str | int] = {"gateway.callback_id": callback.id, "gateway.items": len(parts)}
    return telemetry.span("ingest callback", SpanKind.CONSUMER, about)


def _keys(part: Part) -> list[str]:
    """The keys of the messages and the person that the item changes (models.database.write)."""
    known = [getattr(part.item, name, None) for name in ("reference", "wa_message_id", "target")]
    if isinstance(part.item, OF_PEOPLE):
        known.append(part.item.person.phone or part.item.person.user_id)
    return [identifier for identifier in known if identifier is not None]


def match_parked() -> None:
    """Ingest statuses that came before the network's identifier of their message was known."""
    for parked in SetAside.matchable():
        replay(parked)


def replay(aside: SetAside) -> bool:
    """Ingest a row of SetAside again. Returns False if any of its items stays aside, with its new reason.

    If the row is a whole callback, each such item becomes a row.
    """
    parts = parse(bytes(aside.body), clock.now())
    are_in, _ = ingest_each(aside, parts, is_last=True)
    if are_in or len(parts) > 1:
        aside.settle()
    return are_in


def ingest_each(
    source: Callback | SetAside, parts: Sequence[Part], *, is_last: bool
) -> tuple[bool, str | None]:
    """Ingest each item in its own transaction, so that a bad one affects no other.

    An item that fails in the last try is set aside. If the source is gone, the other items are dropped.
    Returns whether all items are in, and the last error.
    """
    are_in, problem = True, None
    for part in parts:
        try:
            are_in &= write(partial(_ingest_item_alone, source, part), *_keys(part)) is None
        except GoneError:
            logger.info("%s is gone", source.id)
            return are_in, problem
        except Exception as error:
            if is_outage(error):
                raise
            logger.exception("an item of %s was not ingested", source.id)
            are_in, problem = False, f"{type(error).__name__}: {error}"
            if is_last:
                with writing():
                    if _is_there(source) and _is_wanted(source, part):
                        SetAside.record(Reason.FAILED, part.body(), people_of(part), error=problem)
    return are_in, problem


def _ingest_item_alone(source: Callback | SetAside, part: Part) -> Reason | None:
    """Like ``_ingest_item``, in a batch of one. Raises GoneError if the source is no longer there."""
    if not _is_there(source):
        raise GoneError
    if not _is_wanted(source, part):
        return None
    with counting() as count:
        own = [part.item] if isinstance(part.item, StatusUpdate) else []
        return _ingest_item(part, count, SentMessages(own), source)


def _is_there(source: Callback | SetAside) -> bool:
    """Whether it is still there. An erasure waits for the end of the caller's transaction."""
    return type(source).by_id(source.id) is not None


def _is_wanted(source: Callback | SetAside, part: Part) -> bool:
    """Whether the item is about nobody who was erased since, in the caller's transaction."""
    at = source.created_at if isinstance(source, SetAside) else source.received_at
    return any(ErasedPeople([part]).without([part], at))


def _ingest_item(
    part: Part, count: UsageCount, sent: SentMessages, source: Callback | SetAside
) -> Reason | None:
    """Ingest one item, or set it aside, in the caller's transaction. Returns why it was set aside.

    The reason and its row are in one transaction, so the message cannot become known in between.
    """
    with acting(NETWORK):
        reason = applying.apply(part.item, count, sent, source)
    if reason is not None:
        names = ("phone_number_id", "wa_message_id", "error")
        known = {name: getattr(part.item, name, None) for name in names}
        SetAside.record(reason, part.body(), people_of(part), **known)
    return reason
