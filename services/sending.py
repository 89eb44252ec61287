"""Sends messages, once for each Idempotency-Key (docs/architecture.md, One request; ADR 5).

The claim of the key and the message are committed before the call of the network, and the call holds no
database connection. If the process dies in between, the claim remains, and a claimed key never sends again.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

import orjson
from opentelemetry.trace import SpanKind

from gateway.settings import get_settings
from models import clock
from models.accounts.account import owned
from models.database import UnsureError, answers_at_once, commit, read, write, writing
from models.database.outage import UNAVAILABLE
from models.deliveries.backlog import pressure
from models.errors import (
    ConflictError,
    DomainError,
    FailedError,
    ForbiddenError,
    RateLimitedError,
)
from models.messages.contact import Contact
from models.messages.content import check_size
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from models.numbers.pace import Pace
from models.reports.usage import counting
from networks import exceptions as network
from networks.interface import Acceptance, OutboundMessage, Sender
from networks.registry import network_of
from resources.error import STATUS, error_text
from services import (
    contacts,
    groups,
    number_status,
    storage,
    telemetry,
    template_copy,
    template_reads,
    templates,
)
from services.message_status import record_acceptance
from services.network_failures import (
    Asked,
    active_number,
    answer_to,
    failure_of,
    may_succeed_later,
    sender_of,
)
from services.network_failures import note as note_error
from services.repeating import RETRY_AFTER_RUNNING, REUSED, Answer, fingerprint_of

logger = logging.getLogger(__name__)

RETRY_AFTER_PRESSURE = 5
ERASED = "The message of this Idempotency-Key was erased with its contact. Nothing was sent. Use a new key."
# How long a client waits while it is unknown if the message is stored. A single look may take longer.
PATIENCE_SECONDS = 8.0
PAUSE_SECONDS = 0.2
# How often a first transaction begins again that left nothing behind.
TRIES = 3
Result = TypeVar("Result")

# The pauses between two tries to record an outcome: they double, up to the second value.
FIRST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.5, 8.0

# Sends whose outcome is not recorded yet.
_under_way: set[asyncio.Task[Any]] = set()


class _KeyTakenError(Exception):
    """Another request has claimed the key. Raised to roll back the rows of this request."""

    def __init__(self, known: IdempotencyKey) -> None:
        super().__init__(known.key)
        self.known = known


class Send(NamedTuple):
    """A message that is committed, and what its call of the network needs."""

    number: Number
    sender: Sender
    contact: Contact
    message: Message
    outbound: OutboundMessage
    # What operators see of the template that it was checked against.
    checked: dict[str, str]


class _UndecidedError(Exception):
    """The database stays away: ``send`` may be stored."""

    def __init__(self, send: Send) -> None:
        super().__init__()
        self.send = send


async def send(account_id: str, body: dict[str, Any], key: str | None) -> Answer:
    """Send a message, or replay the response to its key. Raises DomainError."""
    fingerprint = fingerprint_of(body)
    try:
        check_size(as_stored(body), f"/{body['type']}")
        if (limit := get_settings().due_limit) and await pressure.is_above(limit):
            telemetry.REFUSED_BUSY.inc()
            raise RateLimitedError(
                "The gateway is behind with its deliveries. Nothing was sent. Try again in"
                f" {RETRY_AFTER_PRESSURE} seconds.",
                retry_after=RETRY_AFTER_PRESSURE,
            )
        # Until its transaction has ended, another one with this lock waits.
        lock = clock.new_id("send") if key is None else f"idempotency {account_id} {key}"
        # The person is a key too: two transactions may make the contacts of the same people.
        locks = lock, str(body["to"])
        begun = await _checked(partial(_begin, account_id, body, key, fingerprint, locks), locks)
    except _UndecidedError as undecided:
        raise _give_up(undecided.send) from None
    except _KeyTakenError as taken:
        return await _replay(taken.known, fingerprint)
    except ForbiddenError:
        # The key of the response may be limited to other numbers.
        raise
    except DomainError:
        # The stored response is replayed even if the number is no longer active.
        if key is not None and (known := await read(partial(IdempotencyKey.find, account_id, key))):
            return await _replay(known, fingerprint)
        raise
    return await _finish_sending(begun)


async def _checked(begin: Callable[..., Send], locks: Sequence[str]) -> Send:
    """Commit ``begin``. If a copy of a template refuses it, the template is read from the network first.

    The network decides on the content of a send whose template could not be read.
    """
    try:
        return await _settle(begin, locks)
    except templates.CopyRefusedError as refused:
        is_fresh = await template_reads.read_again(refused.number, refused.name)
    try:
        return await _settle(partial(begin, is_final=is_fresh), locks)
    except templates.CopyRefusedError as refused:
        raise refused.refusal from None


async def _settle(begin: Callable[[Callable[[Send], None]], Send], locks: Sequence[str]) -> Send:
    """Commit ``begin``, which passes what it made to its argument before it commits.

    A commit whose response is lost may have succeeded. The network is not called yet, so the message is
    looked up: if it is stored the send continues, otherwise it begins again. Raises _UndecidedError, or the
    error of ``begin`` if it certainly left nothing behind.
    """
    for attempt in itertools.count(1):
        made: list[Send] = []
        try:
            return await commit(partial(begin, made.append), *locks)
        except UNAVAILABLE:
            # SQLite has no response that could be lost.
            if not made or answers_at_once():
                raise
            if await _look_up(locks[0], made[-1]):
                return made[-1]
            if attempt == TRIES:
                raise
    raise AssertionError


async def _look_up(lock: str, send: Send) -> bool:
    """Whether a send is stored, when the database is back. Raises _UndecidedError."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            # Not with others: its lock may be held until the server notices that a connection is lost.
            # Meanwhile it takes one of the threads that also read.
            return await commit(partial(_is_stored, lock, send))
        except UNAVAILABLE:
            if time.monotonic() > deadline:
                raise _UndecidedError(send) from None
        await asyncio.sleep(PAUSE_SECONDS)


def _begin(
    account_id: str,
    body: dict[str, Any],
    key: str | None,
    fingerprint: str,
    locks: Sequence[str],
    note: Callable[[Send], None],
    *,
    is_final: bool = True,
) -> Send:
    """Commit the message and the claim of its key. Raises an error, and rolls back.

    The error is DomainError, CopyRefusedError or _KeyTakenError.

    ``note`` gets what this returns before it is committed. ``is_final`` is that of the check of a template.
    """
    to, type_, content = body["to"], body["type"], as_stored(body)

    def begin() -> Send:
        stored = storage.look_up(account_id)
        rows = () if key is None else IdempotencyKey.look_up(account_id, key)
        number = active_number(body["number_id"], account_id, "send", "/number_id")
        # Before the first change: an error after it also undoes what shares the transaction.
        if known := IdempotencyKey.current(rows):
            raise _KeyTakenError(known)
        storage.check(stored)
        sender = sender_of(number, "sent")
        target = quoted(body, number)
        group = None if target is None else groups.group_of(target, number, body["type"])
        contact = Contact.of_recipient(number, to)
        in_group = None if group is None else target
        if in_group is not None:
            groups.check(in_group, contact, type_)
        template = None
        if type_ == "template":
            with templates.by_copy(number, body["template"]["name"]):
                template = templates.check_message(
                    number, contact, body["template"], is_final=is_final
                )
                if in_group is not None:
                    groups.check_template(in_group, template)
        message = Message.write_outbound(
            number,
            to,
            type_,
            content,
            contact_id=contact.id,
            quoted=target,
            group_id=group,
            reference=body.get("reference"),
        )
        if key is not None:
            known = IdempotencyKey.claim(account_id, key, fingerprint, message)
            if known is not None:
                raise _KeyTakenError(known)
        quoted_id = None if target is None else target.wa_message_id
        outbound = OutboundMessage(to, type_, body[type_], message.id, quoted_id, group)
        checked = {} if template is None else template.version
        note(begun := Send(number, sender, contact, message, outbound, checked))
        with counting() as count:
            count.store(message)
        Pace.take_place(number.id)
        return begun

    return write(begin, *locks)


def _is_stored(lock: str, send: Send) -> bool:
    """Whether the transaction that began a send was committed, and the send may continue."""

    def look() -> bool:
        message = Message.by_id(send.message.id)
        return message is not None and message.status == MessageStatus.PENDING

    return write(look, lock)


def _give_up(send: Send) -> FailedError:
    """Release the key when the database is back. Returns the error, which is certain already."""
    error = network.NotReachedError(
        "not_sent", "The database stopped responding before the message was sent."
    )
    record = partial(_record_failure, send.number, send.message, error)
    _start(record_later(send.message.id, record))
    return FailedError(
        "The gateway's database stopped responding. Nothing was sent. Repeat the request with the same"
        f" Idempotency-Key in {RETRY_AFTER_PRESSURE} seconds.",
        retry_after=RETRY_AFTER_PRESSURE,
    )


def as_stored(body: dict[str, Any]) -> dict[str, Any]:
    """The content as Message.body shows it, in the stored form of inbound messages.

    An array becomes a member with the name of the type. The context of a reply is added next to the content.
    """
    content = body[body["type"]]
    beside = {"context": body["context"]} if "context" in body else {}
    return beside | (content if isinstance(content, dict) else {body["type"]: content})


def quoted(body: dict[str, Any], number: Number) -> Message | None:
    """The message that a request replies or reacts to, or None.

    Raises NotFoundError, ForbiddenError, and ConflictError for a message of another number or one that the
    network did not accept.
    """
    place = "reaction" if body["type"] == "reaction" else "context"
    if place not in body:
        return None
    message_id, field = body[place]["message_id"], f"/{place}/message_id"
    message = owned(Message, message_id, number.account_id, field)
    if message.number_id != number.id:
        problem = "is a message of another number"
    elif message.wa_message_id is None:
        problem = "was not accepted by the messaging network"
    else:
        return message
    raise ConflictError(f"Request body, {place}.message_id: {message_id} {problem}.", field=field)


def sent_response(message: Message) -> str:
    """The response to an accepted message, as JSON text.

    Its status is always ``sent``, even if a later status came first, so that the request and its repetitions
    get the same response.
    """
    sent = {"id": message.id, "wa_message_id": message.wa_message_id, "status": MessageStatus.SENT}
    return orjson.dumps(sent).decode()


async def _replay(known: IdempotencyKey, fingerprint: str) -> Answer:
    if known.message_id is None:
        raise ConflictError(ERASED)
    if known.fingerprint != fingerprint:
        raise ConflictError(REUSED)
    telemetry.note(message_id=known.message_id)
    if known.response_status is not None:
        body = known.response_body or ""
        return Answer(known.response_status, body, known.retry_after, is_replayed=True)
    message = await read(partial(Message.get_by_id, known.message_id))
    if message.wa_message_id is None:
        raise ConflictError(
            "The first request with this Idempotency-Key has no outcome yet. "
            f"Its message is {known.message_id}.",
            retry_after=RETRY_AFTER_RUNNING,
            message_id=known.message_id,
        )
    return Answer(200, sent_response(message), is_replayed=True)


async def _finish_sending(send: Send) -> Answer:
    """Send the message and record the outcome, even if the client disconnects or the service stops.

    Raises DomainError with the message's identifier if the outcome cannot be recorded now.
    """
    message_id = send.message.id
    try:
        return await asyncio.shield(_start(_hand_over(send)))
    except asyncio.CancelledError:
        # The service is stopping. finish() waits for the task.
        logger.warning("the service is stopping while message %s is being sent", message_id)
    except UNAVAILABLE as error:
        logger.warning("the outcome of message %s is not recorded yet: %s", message_id, error)
    except Exception:
        logger.exception("the outcome of message %s was not recorded", message_id)
    raise FailedError(
        "The outcome of the message could not be recorded yet. "
        f"Read message {message_id} for its outcome before you send again.",
        message_id=message_id,
    ) from None


def _start(work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
    """Run ``work`` in a task that finish() waits for."""
    task = asyncio.create_task(work)
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    return task


async def finish(seconds: float) -> None:
    """Wait at most ``seconds`` until all sends are recorded. A process calls it before it exits."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            # A send whose outcome could not be recorded starts another task.
            while _under_way:
                await asyncio.wait(_under_way)
    if _under_way:
        logger.error("%d outcomes of sends were not recorded", len(_under_way))


async def _hand_over(send: Send) -> Answer:
    """Call the network, outside any transaction, and record the outcome."""
    message = send.message
    telemetry.note(message_id=message.id, **send.checked)
    try:
        accepted = await call_network(send)
    except network.NetworkError as error:
        note_error(error)
        record, keys = partial(_record_failure, send.number, message, error), list[str]()
    else:
        keys = [message.id, accepted.wa_message_id]
        record = partial(_record_success, send.contact, message, accepted, keys)
    try:
        return await record_at_once(record, keys)
    except UNAVAILABLE:
        # The client is not kept waiting any longer: a try takes up to half a minute.
        _start(record_later(message.id, record))
        raise


async def call_network(send: Send) -> Acceptance:
    """Send a stored message, outside any transaction. Raises NetworkError."""
    try:
        with telemetry.span(
            "send to network", SpanKind.CLIENT, {"gateway.message_id": send.message.id}
        ):
            accepted = await groups.send(network_of(send.number), send.sender, send.outbound)
    except network.NetworkError as error:
        telemetry.count_send(error)
        raise
    telemetry.count_send(None)
    return accepted


async def record_at_once(record: Callable[[], Result], keys: Sequence[str] = ()) -> Result:
    """Record an outcome, and again if the connection ended during the commit. See record_later."""
    try:
        return await commit(record, *keys)
    except UnsureError as error:
        if error.is_silent:
            raise
    return await commit(record, *keys)


async def record_later(message_id: str, record: Callable[[], object]) -> None:
    """Repeat the recording of an outcome until the database is writable, so that the outcome is not lost.

    A commit may succeed although its response is lost, so ``record`` may run twice.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        await asyncio.sleep(pause)
        try:
            await commit(record)
        except UNAVAILABLE as error:
            logger.warning("the outcome of message %s is not recorded yet: %s", message_id, error)
            pause = min(2 * pause, MOST_PAUSE_SECONDS)
        except Exception:
            logger.exception("the outcome of message %s was not recorded", message_id)
            return
        else:
            logger.info("the outcome of message %s is recorded", message_id)
            return


def _record_success(
    contact: Contact, message: Message, accepted: Acceptance, keys: Sequence[str]
) -> Answer:
    accept = partial(record_acceptance, message, accepted, contact)
    return Answer(200, sent_response(write(accept, *keys)))


def _record_failure(number: Number, message: Message, error: network.NetworkError) -> Answer:
    """Record the error, and the number's status after it, in one transaction."""
    sending = Asked(
        verb="send",
        done="sent",
        thing="message",
        unclear=(
            "so the message may have been sent. "
            f"Read message {message.id} for its outcome before you send again."
        ),
        later="Try again later with the same Idempotency-Key.",
    )
    failure = answer_to(number, sending, error, message.id)
    text = error_text(failure.code, failure.message, failure.details)
    answer = Answer(STATUS[failure.code], text, failure.retry_after)
    is_ambiguous = isinstance(error, network.AmbiguousError)
    status = MessageStatus.UNKNOWN if is_ambiguous else MessageStatus.FAILED
    with writing():
        # The person may be erased by now, and the message with it.
        fresh = Message.by_id(message.id)
        shown = None if is_ambiguous else failure_of([(error.code, error.reason)], [error.details])
        is_new = fresh is None or fresh.advance(status, at=clock.now(), error=shown)
        if may_succeed_later(number, error):
            IdempotencyKey.release(message)
        else:
            IdempotencyKey.answer(message, answer.status, answer.body, answer.retry_after)
        # After an earlier run that was committed, later changes of the number and the person count.
        if is_new:
            number_status.apply_error(number, error)
            if error.code == network_of(number).opt_out:
                contacts.opt_out(message, clock.now())
            if error.code in network_of(number).template_differs:
                template_copy.note_difference(number)
    return answer
