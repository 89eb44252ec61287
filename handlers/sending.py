"""Sending, exactly once for each Idempotency-Key (design, section 2.1 and decisions 14 to 16).

The claim of the key and the message are committed before the network is asked, and no connection is
held while it answers. Whatever dies in between leaves a claim, and a claim never sends again.
"""

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from opentelemetry.trace import SpanKind
from starlette.responses import Response

from handlers.errors import ApiError, ConflictError, Details, ServerError
from handlers.outcomes import Asked, answer_to
from handlers.ownership import owned
from models import clock
from models.database import write, writing
from models.idempotency import IdempotencyKey
from models.message import Message
from models.message_status import MessageStatus
from models.number import Number, NumberStatus
from models.writer import commit, read
from networks import errors as network
from networks.current import get_network
from networks.interface import OutboundMessage, Sender
from tasks import deliver, lifecycle, meters, telemetry
from tasks.outcome import record_acceptance, sent_response

logger = logging.getLogger(__name__)

RETRY_AFTER_RUNNING = 2
REPLAYED = "Idempotency-Replayed"

# Sends that the network was asked about, or is about to be.
_under_way: set[asyncio.Task[Any]] = set()


class _KeyTakenError(Exception):
    """Another request with the key was faster. Raised to undo what was written down for this one."""

    def __init__(self, known: IdempotencyKey) -> None:
        super().__init__(known.key)
        self.known = known


@dataclass(frozen=True)
class StoredResponse:
    """A response as it is kept for its Idempotency-Key."""

    status: int
    body: str
    retry_after: int | None = None

    def to_http(self, *, replayed: bool = False) -> Response:
        """The HTTP response."""
        response = Response(self.body, self.status, media_type="application/json")
        if self.retry_after is not None:
            response.headers["Retry-After"] = str(self.retry_after)
        if replayed:
            response.headers[REPLAYED] = "true"
        return response


async def send(account_id: str, body: dict[str, Any], key: str | None) -> Response:
    """Send a message, or replay what became of it. Raises ApiError."""
    fingerprint = _fingerprint(body)
    try:
        begun = await commit(partial(_begin, account_id, body, key, fingerprint))
    except _KeyTakenError as taken:
        return _replay(taken.known, fingerprint)
    except ApiError:
        # A request that was answered once gets that answer, whatever became of its number.
        if key is not None and (known := await read(partial(IdempotencyKey.find, account_id, key))):
            return _replay(known, fingerprint)
        raise
    telemetry.note(message_id=begun.message.id)
    answer = await _to_its_end(begun)
    return answer.to_http()


@dataclass(frozen=True)
class _Begun:
    """A message that is written down, and not yet handed to the network."""

    number: Number
    message: Message
    outbound: OutboundMessage


def _begin(account_id: str, body: dict[str, Any], key: str | None, fingerprint: str) -> _Begun:
    """Commit the message, and the claim of its key. Raises ApiError, _KeyTakenError: nothing is written."""

    def begin() -> _Begun:
        number, quoted_id = _check_sender(account_id, body)
        message = Message.write_outbound(number, body["to"], body["type"], as_stored(body))
        if key is not None:
            known = IdempotencyKey.claim(number.account_id, key, fingerprint, message)
            if known is not None:
                raise _KeyTakenError(known)
        content = body[body["type"]]
        outbound = OutboundMessage(body["to"], body["type"], content, message.id, quoted_id)
        return _Begun(number, message, outbound)

    return write(begin, *IdempotencyKey.keys(account_id, key))


async def _to_its_end(begun: _Begun) -> StoredResponse:
    """Ask the network and record its answer, even if the client disconnects or the service stops.

    Raises ServerError that names the message where what the network said cannot be recorded.
    """
    work = asyncio.create_task(_hand_over(begun))
    _under_way.add(work)
    work.add_done_callback(_under_way.discard)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        # The service stops. The work goes on in the time that is left.
        logger.warning("the service stopped while message %s was under way", begun.message.id)
    except Exception:
        logger.exception("what the network said of message %s is not recorded", begun.message.id)
    raise ServerError(
        "What the messaging network said of the message could not be recorded yet. "
        f"Read message {begun.message.id} for its outcome before you send again.",
        details=Details(message_id=begun.message.id),
    ) from None


async def finish(seconds: float) -> None:
    """Wait until nothing is under way, for so long. For a process that ends."""
    if _under_way:
        await asyncio.wait(_under_way, timeout=seconds)


def _check_sender(account_id: str, body: dict[str, Any]) -> tuple[Number, str | None]:
    """The number that sends, and the network's identifier of the message that is quoted, if one is."""
    number_id = body["number_id"]
    number = owned(Number.find(number_id), "number", number_id, account_id, "/number_id")
    if number.status != NumberStatus.ACTIVE:
        raise ConflictError(f"The number {number.id} is {number.status} and cannot send.")
    return number, quoted(body, number)


def as_stored(body: dict[str, Any]) -> dict[str, Any]:
    """The content as Message.body shows it, in the form in which inbound messages are kept.

    An array is wrapped under its own name, and the context of a reply stands beside the content.
    """
    content = body[body["type"]]
    beside = {"context": body["context"]} if "context" in body else {}
    return beside | (content if isinstance(content, dict) else {body["type"]: content})


def quoted(body: dict[str, Any], number: Number) -> str | None:
    """The network's identifier of the message that a request to send speaks of, if it does.

    Raises NotFoundError, ForbiddenError, and ConflictError when it is another number's or has no such
    identifier, because the network did not accept it.
    """
    place = "reaction" if body["type"] == "reaction" else "context"
    if place not in body:
        return None
    message_id, field = body[place]["message_id"], f"/{place}/message_id"
    message = owned(Message.find(message_id), "message", message_id, number.account_id, field)
    if message.number_id != number.id:
        raise _conflict(place, f"{message_id} is a message of another number.")
    if message.wa_message_id is None:
        raise _conflict(place, f"{message_id} was not accepted by the messaging network.")
    return str(message.wa_message_id)


def _conflict(place: str, message: str) -> ConflictError:
    return ConflictError(
        f"Request body, {place}.message_id: {message}",
        details=Details(field=f"/{place}/message_id"),
    )


def _fingerprint(body: dict[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _replay(known: IdempotencyKey, fingerprint: str) -> Response:
    if known.fingerprint != fingerprint:
        raise ConflictError(
            "This Idempotency-Key was used with another request body. Use a new key."
        )
    if known.response_status is None:
        raise ConflictError(
            "The first request with this Idempotency-Key has no outcome yet. "
            f"Its message is {known.message_id}.",
            retry_after=RETRY_AFTER_RUNNING,
            details=Details(message_id=known.message_id),
        )
    telemetry.note(message_id=known.message_id)
    stored = StoredResponse(known.response_status, known.response_body or "", known.retry_after)
    return stored.to_http(replayed=True)


async def _hand_over(begun: _Begun) -> StoredResponse:
    """Ask the network, outside any transaction, and record what it said."""
    number, message = begun.number, begun.message
    try:
        wa_message_id = await _ask(
            Sender(number.phone_number_id, number.access_token), begun.outbound
        )
    except network.NetworkError as error:
        meters.count_send(error)
        response = await commit(partial(_record_failure, number, message, error))
    else:
        meters.count_send(None)
        response = await commit(partial(_record_success, message, wa_message_id))
    deliver.wake()
    return response


async def _ask(sender: Sender, outbound: OutboundMessage) -> str:
    """The network's identifier of the message. Raises a class of networks.errors."""
    about = {"gateway.message_id": outbound.reference}
    with telemetry.span("send to network", SpanKind.CLIENT, about):
        return await get_network().send(sender, outbound)


def _record_success(message: Message, wa_message_id: str) -> StoredResponse:
    def accept() -> StoredResponse:
        fresh = record_acceptance(message, wa_message_id)
        response = StoredResponse(200, sent_response(fresh))
        IdempotencyKey.answer(message, response.status, response.body)
        return response

    return write(accept, *Message.keys(message.id, wa_message_id))


def _record_failure(
    number: Number, message: Message, error: network.NetworkError
) -> StoredResponse:
    """Record why the message was not accepted, in one transaction with the number's transition."""
    answer = answer_to(number, _asked(message), error, message.id)
    response = StoredResponse(answer.status, answer.body, answer.retry_after)
    ambiguous = isinstance(error, network.AmbiguousError)
    status = MessageStatus.UNKNOWN if ambiguous else MessageStatus.FAILED
    with writing():
        Message.get_by_id(message.id).advance(
            status, at=clock.now(), error=None if ambiguous else (error.code, error.reason)
        )
        if isinstance(error, network.NotReachedError):
            IdempotencyKey.release(message)
        else:
            IdempotencyKey.answer(message, response.status, response.body, response.retry_after)
        lifecycle.apply_error(number, error)
    return response


def _asked(message: Message) -> Asked:
    return Asked(
        verb="send",
        done="sent",
        thing="message",
        later="Try again later with a new Idempotency-Key.",
        unclear=(
            "so the message may have been sent. "
            f"Read message {message.id} for its outcome before you send again."
        ),
    )
