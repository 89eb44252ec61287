"""The operations of the growth benchmark: the lists of the API, a send, a callback, a claim, retention.

They call the product's functions below HTTP, because the cost of HTTP does not depend on the database.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from itertools import count
from unittest import mock

from benchmarks.populate import Owner
from handlers import deliveries, messages
from models import clock
from models.clock import DAY_MS, timestamp
from models.database import writing
from models.deliveries.attempt import Outcome, record_outcomes
from models.deliveries.claim import ClaimedDelivery, Terms, claim_due
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.delivery_filter import DeliveryFilter
from models.deliveries.event import Event
from models.messages.callback import Callback
from models.messages.message import Message, MessageStatus
from networks.interface import Acceptance, Network, OutboundMessage, Sender
from networks.memory.network import MemoryNetwork
from services import sending
from tasks import ingest
from tasks.retention import BATCH_SIZE, KINDS

# Returns the milliseconds of one run.
Operation = Callable[[], float]
PAGE, DEEP = 20, 500
DUE = 20
LEASE_MS = 30_000
RETENTION_DAYS = 30
_numbers = count()


class UndoneError(Exception):
    """Rolls back a transaction."""


class AcceptingNetwork(MemoryNetwork):
    """A messaging network that accepts every message immediately, and sends no statuses."""

    async def send(self, sender: Sender, message: OutboundMessage) -> Acceptance:  # noqa: ARG002
        """Accept a message, with a new identifier."""
        return Acceptance(f"wamid.{sender.phone_number_id}.{time.time_ns()}")


@contextmanager
def accepting_network() -> Iterator[None]:
    """Inside the block, no message leaves the process."""
    network: Network = AcceptingNetwork()
    with mock.patch("services.sending.network_of", return_value=network):
        yield


def timed(work: Callable[[], object]) -> float:
    """The duration of the work, in milliseconds."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def lists(owner: Owner) -> dict[str, Operation]:
    """The lists of an account's messages and of its webhook's deliveries, with every filter."""
    user, webhook_id = owner.account.id, owner.webhook.id
    newest = DeliveryFilter([webhook_id]).page(1, DEEP).rows[0].created_at

    def of_messages(offset: int = 0, **filters: str) -> Operation:
        return lambda: timed(lambda: messages.list_messages(user, PAGE, offset, **filters))

    def of_deliveries(offset: int = 0, **filters: str) -> Operation:
        listing = deliveries.list_webhook_deliveries
        return lambda: timed(lambda: listing(user, webhook_id, PAGE, offset, **filters))

    number_id = owner.numbers[0].id
    return {
        "messages": of_messages(),
        f"messages from the {DEEP}th": of_messages(DEEP),
        "messages of a number": of_messages(number_id=number_id),
        "messages in": of_messages(direction="INBOUND"),
        "messages out": of_messages(direction="OUTBOUND"),
        "messages read": of_messages(status="read"),
        "messages failed": of_messages(status="failed"),
        "messages pending": of_messages(status="pending"),
        "messages unknown (none)": of_messages(status="unknown"),
        "messages read, out, of a number": of_messages(
            number_id=number_id, direction="OUTBOUND", status="read"
        ),
        "messages of a person (none)": of_messages(phone="15550009999"),
        "messages of a rare type (none)": of_messages(type_="sticker"),
        "messages with an error (none)": of_messages(error_text="131047"),
        f"messages of the time of {DEEP}": of_messages(since=timestamp(newest)),
        "deliveries": of_deliveries(),
        f"deliveries from the {DEEP}th": of_deliveries(DEEP),
        "deliveries delivered": of_deliveries(state="delivered"),
        "deliveries failed": of_deliveries(state="failed"),
        "deliveries pending": of_deliveries(state="pending"),
        "deliveries of message.read": of_deliveries(event="message.read"),
        "deliveries of message.failed": of_deliveries(event="message.failed"),
        "deliveries of number.banned (none)": of_deliveries(event="number.banned"),
        f"deliveries of the time of {DEEP}": of_deliveries(since=timestamp(newest)),
    }


def changes(owner: Owner) -> dict[str, Operation]:
    """Sending, ingesting, claiming and recording. None leaves deliveries that are due."""
    return {
        "send": lambda: _finishing(lambda: timed(lambda: _send(owner))),
        "ingest a status": lambda: _finishing(lambda: _ingest(owner)),
        f"claim {DUE} due": lambda: _deliver(owner)[0],
        f"record {DUE} outcomes": lambda: _deliver(owner)[1],
    }


def _send(owner: Owner) -> str:
    """All of POST /messages/send below HTTP. Returns the network's identifier."""
    name = next(_numbers)
    body = {"number_id": owner.numbers[0].id, "to": "15551234567", "type": "text"}
    text = {"text": {"body": f"Your order {name} has left our warehouse and arrives on Tuesday."}}
    key = f"growth-{time.time_ns()}-{name}"
    answer = asyncio.run(sending.send(owner.account.id, body | text, key))
    if answer.status != HTTPStatus.OK or answer.is_replayed:
        raise RuntimeError(f"the send responded with {answer}")
    return str(json.loads(answer.body)["wa_message_id"])


def _ingest(owner: Owner) -> float:
    wa_message_id = _send(owner)
    status = {"id": wa_message_id, "status": "delivered", "timestamp": str(clock.now() // 1000)}
    value = {
        "metadata": {"phone_number_id": owner.numbers[0].phone_number_id},
        "statuses": [status],
    }
    entry = {"id": "2", "changes": [{"field": "messages", "value": value}]}
    Callback.store(json.dumps({"entry": [entry]}).encode())
    took = timed(ingest.work_off)
    message = Message.get(Message.wa_message_id == wa_message_id)
    if message.status != MessageStatus.DELIVERED:
        raise RuntimeError(f"the message is {message.status} after its status was ingested")
    return took


def _deliver(owner: Owner) -> tuple[float, float]:
    """Claim due deliveries and record outcomes. Returns the milliseconds of the claim and the recording."""
    with writing():
        for _ in range(DUE):
            event = Event.append(
                owner.account.id,
                "message.received",
                {},
                number_id=owner.numbers[0].id,
                subject_id="msg_growth",
            )
            Delivery.schedule(event, [owner.webhook])
    claimed: list[ClaimedDelivery] = []
    took = timed(lambda: claimed.extend(claim_due(DUE, Terms(DUE, LEASE_MS)).deliveries))
    if len(claimed) != DUE:
        raise RuntimeError(f"{len(claimed)} claimed, not {DUE}")
    return took, timed(lambda: _record(claimed))


def _record(claimed: list[ClaimedDelivery]) -> None:
    outcomes = [
        Outcome(each.delivery_id, each.lease_token, clock.now(), 5, True, 200, None, "")  # noqa: FBT003
        for each in claimed
    ]
    ended = record_outcomes(outcomes, lambda _: None, 10)
    if ended[DeliveryState.DELIVERED] != len(claimed):
        raise RuntimeError(f"{len(claimed)} outcomes were recorded as {dict(ended)}")


def _finishing(operation: Operation) -> float:
    took = operation()
    while claimed := claim_due(DUE, Terms(DUE, LEASE_MS)).deliveries:
        _record(claimed)
    return took


def removals() -> dict[str, Operation]:
    """A batch of retention of each kind that grows. The removed rows are restored afterwards."""
    # Deliveries, messages and events.
    kinds = {kind.name: kind for kind in KINDS[:3]}

    def remove(name: str) -> float:
        before = clock.now() - RETENTION_DAYS * DAY_MS
        took = 0.0
        with suppress(UndoneError), writing():
            for each, removal in kinds.items():
                # An event is removed after its deliveries and its message.
                if name in {each, "events"}:
                    took = timed(lambda removal=removal: removal.remove(before, BATCH_SIZE))  # type: ignore[misc]
            raise UndoneError
        return took

    return {f"remove {BATCH_SIZE} old {name}": lambda name=name: remove(name) for name in kinds}  # type: ignore[misc]
