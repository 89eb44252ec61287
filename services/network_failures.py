"""Calls the network for numbers, and maps its errors to errors of the domain."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import TypeVar

from models.accounts.secret import SecretUnreadableError
from models.database import commit, read
from models.errors import (
    ConflictError,
    DomainError,
    FailedError,
    InvalidError,
    NotFoundError,
    RateLimitedError,
)
from models.messages.content import as_json
from models.messages.message import Failure
from models.numbers.number import Number, NumberStatus
from networks import exceptions as network
from networks.interface import Sender
from networks.registry import described, network_of, offered
from resources.error import network_words
from resources.number import status_reason
from services import number_status, telemetry

logger = logging.getLogger(__name__)

Capability = TypeVar("Capability")

# Seconds to wait after a throttled call: if the network names none, and at most. A client seldom waits
# longer, and the network can throttle the repeated call again.
RETRY_AFTER_THROTTLED, LONGEST_PAUSE = 60, 3600
# The most errors of a message that are kept.
MOST_ERRORS = 20
# How a number becomes ACTIVE. The number's reason may already say it (networks.whatsapp.error_codes).
REMEDIES = {
    NumberStatus.PROVISIONING: "Wait until its signup has finished, then try again.",
    NumberStatus.DISCONNECTED: "Send the number's owner a new signup link.",
    NumberStatus.BANNED: "Appeal in WhatsApp Manager.",
}


@dataclass(frozen=True)
class Asked:
    """The words for a call of the network in an error response.

    ``unclear`` says what may have happened and what to do if the outcome is unknown. ``later`` says what
    to do after a throttled request.
    """

    verb: str
    done: str
    unclear: str
    thing: str = "request"
    later: str = "Try again later."


# Errors after which certainly nothing was done, and a repetition may succeed: they free an Idempotency-Key.
NOT_DONE = (
    network.NotReachedError,
    network.ThrottledError,
    network.NumberLostError,
    network.NumberBannedError,
    network.NumberInDoubtError,
    network.AccountActionError,
    network.TemplateExistsError,
)

# The error of the domain and its text for each error. ``error`` ends with a full stop.
ANSWERS: dict[type[network.NetworkError], tuple[type[DomainError], str]] = {
    network.RefusedError: (InvalidError, "The messaging network refused the {thing}: {error}"),
    network.MediaGoneError: (
        NotFoundError,
        "The messaging network no longer has the {thing}: {error}",
    ),
    network.PageGoneError: (NotFoundError, "There is no such page. Start again without `after`."),
    network.TemplateGoneError: (
        NotFoundError,
        "The messaging network has no such template. List the templates, and name one of them.",
    ),
    network.TemplateExistsError: (
        ConflictError,
        "The messaging network already has this template. Choose another name or language, or edit it.",
    ),
    network.NotOfferedError: (
        ConflictError,
        "The messaging network of the number {number} cannot {verb}. Nothing was {done}.",
    ),
    network.ThrottledError: (
        RateLimitedError,
        "The messaging network throttled the {thing}: {error} {later}",
    ),
    network.NotReachedError: (
        FailedError,
        "The messaging network could not be reached. Nothing was {done}; try again.",
    ),
    network.AmbiguousError: (FailedError, "The messaging network gave no clear answer, {unclear}"),
    network.NumberLostError: (
        ConflictError,
        "The number {number} was disconnected by the network: {error}",
    ),
    network.NumberBannedError: (
        ConflictError,
        "The number {number} was banned by the network: {error}",
    ),
    network.AccountActionError: (
        ConflictError,
        (
            "The owner of the number {number} must act at the platform first: {error} Nothing was {done}. "
            "Resolve the problem there, then {verb} again."
        ),
    ),
    network.NumberInDoubtError: (
        ConflictError,
        (
            "The messaging network does not allow the number {number} to {verb}: {error} Nothing was {done}. "
            "The gateway is checking the number. Read its status, and try again if it is ACTIVE."
        ),
    ),
}


def answer_to(
    number: Number, asked: Asked, error: network.NetworkError, message_id: str | None = None
) -> DomainError:
    """The error of a request of the number whose network call failed with this error.

    ``message_id`` is the message that was stored for the request.
    """
    kind, text = ANSWERS[type(error)]
    # A cursor that has expired is no failure of the network.
    is_cursor = isinstance(error, network.PageGoneError)
    return kind(
        text.format(number=number.id, error=described(error), **asdict(asked)),
        retry_after=pause_of(error) if kind is RateLimitedError else None,
        field="/after" if is_cursor else None,
        network_code=None if is_cursor else error.network_code,
        message_id=message_id,
        network_words=network_words(error.details),
    )


def pause_of(error: network.NetworkError) -> int:
    """How many seconds a client waits after a throttled call."""
    asked = error.details.retry_after
    return RETRY_AFTER_THROTTLED if asked is None else min(max(asked, 1), LONGEST_PAUSE)


def may_succeed_later(number: Number, error: network.NetworkError) -> bool:
    """Whether certainly nothing was done, for a reason that is not in the request."""
    if isinstance(error, network.RefusedError):
        return error.code in network_of(number).passing_refusals
    return isinstance(error, NOT_DONE)


def failure_of(
    errors: Sequence[tuple[str, str]], details: Sequence[network.ErrorDetails]
) -> Failure:
    """The stored form of the errors of a message, each a code and the network's text."""
    each = zip(errors, (*details, *[network.ErrorDetails()] * len(errors)), strict=False)
    shown = [{"code": code, "text": text, **network_words(more)} for (code, text), more in each][
        :MOST_ERRORS
    ]
    is_plain = len(shown) == 1 and len(shown[0]) == 2  # noqa: PLR2004 - code and text
    return Failure(*errors[0], None if is_plain else as_json(shown))


def note(error: network.NetworkError) -> None:
    """Add the error to the log lines of the request, without the network's texts."""
    trace = error.details.trace_id
    telemetry.note(network_code=error.code, **({"network_trace_id": trace} if trace else {}))


def sender_of(number: Number, done: str) -> Sender:
    """The number of a call. Raises FailedError, and logs it, if this process cannot decrypt its token."""
    try:
        return Sender(number.phone_number_id, number.access_token)
    except SecretUnreadableError as error:
        logger.error(  # noqa: TRY400 - the operator needs no trace
            "number %s cannot be used: %s Put back the GATEWAY_SECRET_KEY or secret.key that encrypted it.",
            number.id,
            error,
        )
        raise FailedError(
            f"The gateway cannot decrypt the access token of the number {number.id}: GATEWAY_SECRET_KEY is"
            f" not the one that encrypted it. Nothing was {done}. The operator of the gateway must put back"
            " that key."
        ) from None


def require_active(number: Number, action: str) -> None:
    """Raise ConflictError, with the network's reason and what to do, unless the number is ACTIVE."""
    if number.status == NumberStatus.ACTIVE:
        return
    reason, remedy = status_reason(number) or "", REMEDIES[NumberStatus(number.status)]
    sentences = (
        f"The number {number.id} is {number.status} and cannot {action}.",
        f"Reason: {reason.rstrip('.')}." if reason else "",
        "" if remedy in reason else remedy,
    )
    raise ConflictError(" ".join(filter(None, sentences)))


def active_number(number_id: str, account_id: str, action: str, field: str | None = None) -> Number:
    """The account's number, for an action. Raises DomainError, also if it is not ACTIVE."""
    number = Number.owned(number_id, account_id, field)
    require_active(number, action)
    return number


@asynccontextmanager
async def asking(
    capability: type[Capability], number: Number, asked: Asked
) -> AsyncIterator[tuple[Capability, Sender]]:
    """Call the network for a number inside. Its errors may change the number's status. Raises DomainError."""
    sender = sender_of(number, asked.done)
    try:
        yield offered(capability, network_of(number)), sender
    except network.NetworkError as error:
        note(error)
        await commit(partial(number_status.apply_error, number, error))
        raise answer_to(number, asked, error) from None


@asynccontextmanager
async def calling(
    capability: type[Capability], account_id: str, number_id: str, asked: Asked
) -> AsyncIterator[tuple[Capability, Sender]]:
    """Like ``asking``, for an active number of the account. Raises DomainError."""
    number = await read(partial(active_number, number_id, account_id, asked.verb))
    async with asking(capability, number, asked) as call:
        yield call
