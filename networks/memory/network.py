"""People who answer by fixed rules. No byte leaves the process, and nothing outlives it.

The last four digits of a recipient decide what happens to a message (FATES). Any other message is sent,
delivered and read, and a text that ends with a question mark is answered.
"""

import asyncio
import json
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from networks.exceptions import (
    AmbiguousError,
    ErrorDetails,
    NetworkError,
    RefusedError,
    ThrottledError,
)
from networks.interface import (
    Acceptance,
    FileTypes,
    Network,
    NumberProfile,
    NumberState,
    OutboundMessage,
    Sender,
)
from networks.items import InboundMessage, Item, Part, Person, StatusUpdate, Unreadable

logger = logging.getLogger(__name__)

NAME = "memory"
# Seconds between a message and its first callback, and between two callbacks.
PACE_SECONDS = 0.05
ANSWER = "Yes."
DELIVERED, READ, FAILED = "delivered", "read", "failed"
# The beginning of every callback.
_MARK = b'{"network": "memory"'


@dataclass(frozen=True)
class Fate:
    """What happens to a message: an error at once, or these statuses later. A failure has the ``code``."""

    error: type[NetworkError] | None = None
    statuses: tuple[str, ...] = ()
    code: str = ""


FATES = {
    "0001": Fate(error=RefusedError, code="unknown_person"),
    "0002": Fate(statuses=(FAILED,), code="unreachable_person"),
    "0003": Fate(error=ThrottledError, code="too_many"),
    "0004": Fate(error=AmbiguousError, code="no_answer"),
    "0006": Fate(),
    "0007": Fate(statuses=(DELIVERED,)),
}
USUAL = Fate(statuses=(DELIVERED, READ))
EXPLANATIONS = {
    "unknown_person": "Nobody has this number. Check the recipient.",
    "unreachable_person": "The person cannot be reached. Send it again later.",
    "too_many": "The number sent too many messages. Send more slowly.",
    "no_answer": "The network did not answer. Send it again only if its status is failed.",
}


class MemoryNetwork(Network):
    """The network of this process. ``deliver`` gets its callbacks, in a thread."""

    files = FileTypes(limits={}, extensions={})
    service_window_ms = 24 * 60 * 60_000
    sample_error = ("unreachable_person", "")
    violation = "never"
    explanations = EXPLANATIONS
    opt_out = None
    template_differs = frozenset[str]()
    passing_refusals = frozenset[str]()

    def __init__(self, deliver: Callable[[bytes], object] = lambda _: None) -> None:
        self.deliver = deliver
        self._later: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Drop what is still to come from this event loop."""
        loop = asyncio.get_running_loop()
        for task in [each for each in self._later if each.get_loop() is loop]:
            task.cancel()

    async def send(self, sender: Sender, message: OutboundMessage) -> Acceptance:
        """Accept a message, or not. See FATES."""
        fate = FATES.get(message.to[-4:], USUAL)
        if fate.error is not None:
            raise fate.error(fate.code, "")
        accepted = Acceptance(f"{NAME}.{uuid.uuid4().hex}")
        task = asyncio.create_task(self._answer(sender, message, accepted.wa_message_id, fate))
        self._later.add(task)
        task.add_done_callback(self._later.discard)
        return accepted

    async def _answer(self, sender: Sender, message: OutboundMessage, id_: str, fate: Fate) -> None:
        number, person = sender.phone_number_id, _person(message.to)
        errors = ((fate.code, ""),) if fate.code else ()
        items: list[Item] = [
            StatusUpdate(number, id_, status, message.reference, errors, _now(), person)
            for status in fate.statuses
        ]
        text = message.content.get("body", "") if message.type == "text" else ""
        if READ in fate.statuses and text.endswith("?"):
            content, id_ = {"body": ANSWER}, f"{NAME}.{uuid.uuid4().hex}"
            items.append(InboundMessage(number, id_, message.to, "text", content, _now(), person))
        for item in items:
            await asyncio.sleep(PACE_SECONDS)
            try:
                await asyncio.to_thread(self.deliver, write(item))
            except Exception:
                logger.exception("a callback was lost")

    async def mark_read(self, sender: Sender, wa_message_id: str, *, typing: bool = False) -> None:
        """Nobody sees it."""

    async def get_number(self, sender: Sender) -> NumberProfile:
        """Every number is connected."""
        phone = sender.phone_number_id.rpartition("-")[2]
        return NumberProfile(
            sender.phone_number_id, phone, None, NumberState.CONNECTED, "CONNECTED"
        )

    def recognizes(self, body: bytes) -> bool:
        """Whether this network wrote a callback."""
        return body.startswith(_MARK)

    def parse(self, body: bytes, now: int) -> list[Part]:
        """The item of a callback."""
        try:
            item = _read(json.loads(body), now)
        except (ValueError, KeyError, TypeError) as error:
            item = Unreadable(f"{type(error).__name__}: {error}")
        return [Part(item, lambda: body)]

    def classify(self, code: str, reason: str) -> NetworkError | None:
        """A failure says nothing about the number."""
        return RefusedError(code, reason) if code in EXPLANATIONS else None


def write(item: Item) -> bytes:
    """A callback with one item."""
    return json.dumps({"network": NAME, "kind": type(item).__name__, "item": asdict(item)}).encode()


def _read(callback: dict[str, Any], now: int) -> Item:
    kinds: dict[str, Callable[..., Item]]
    kinds = {kind.__name__: kind for kind in (StatusUpdate, InboundMessage)}
    values = callback["item"] | {"person": Person(**callback["item"]["person"])}
    values["at"] = values["at"] if values["at"] <= now else 0
    if "errors" in values:
        values["errors"] = tuple(map(tuple, values["errors"]))
        details = values.get("error_details", ())
        values["error_details"] = tuple(ErrorDetails(**each) for each in details)
    return kinds[callback["kind"]](**values)


def _person(to: str) -> Person:
    return Person(phone=to) if to.isdecimal() else Person(user_id=to)


def _now() -> int:
    return time.time_ns() // 1_000_000
