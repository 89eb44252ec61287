"""The network's errors as responses of the API (decision 15 of the design)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial

from handlers.errors import ApiError, ConflictError, InvalidError, NotFoundError, ThrottledError
from models.database import commit, writing
from models.number import Number
from networks import exceptions as network
from networks.error_codes import told
from networks.interface import Sender
from tasks import deliver, number_status

RETRY_AFTER_THROTTLED = 60


@dataclass(frozen=True)
class Asked:
    """A call of the network, in the words that a response needs.

    ``unclear`` says what may have happened, and what to do, when the outcome is unknown. ``later`` says what
    to do after a throttled request.
    """

    verb: str
    done: str
    thing: str
    unclear: str
    later: str = "Try again later."


# For each error the response, and its text. The words of ``error`` end with a full stop.
ANSWERS: dict[type[network.NetworkError], tuple[type[ApiError], str]] = {
    network.RefusedError: (InvalidError, "The messaging network refused the {thing}: {error}"),
    network.MediaGoneError: (
        NotFoundError,
        "The messaging network has the {thing} no longer: {error}",
    ),
    network.ThrottledError: (
        ThrottledError,
        "The messaging network throttled the {thing}: {error} {later}",
    ),
    network.NotReachedError: (
        ApiError,
        "The messaging network could not be reached. Nothing was {done}; try again.",
    ),
    network.AmbiguousError: (ApiError, "The messaging network gave no clear answer, {unclear}"),
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
            "The messaging network wants the owner of the number {number} to act first: {error} Nothing was "
            "{done}. Settle this at the platform, then {verb} again."
        ),
    ),
    network.NumberInDoubtError: (
        ConflictError,
        (
            "The messaging network does not let the number {number} {verb}: {error} Nothing was {done}. The "
            "number is being checked with the network: read its status, and try again while it is ACTIVE."
        ),
    ),
}


def answer_to(
    number: Number, asked: Asked, error: network.NetworkError, message_id: str | None = None
) -> ApiError:
    """The response to a request of the number that failed with this error.

    ``message_id`` is the message that was stored for it.
    """
    kind, text = ANSWERS[type(error)]
    return kind(
        text.format(number=number.id, error=told(error), **asdict(asked)),
        retry_after=RETRY_AFTER_THROTTLED if kind is ThrottledError else None,
        network_code=error.network_code,
        message_id=message_id,
    )


@asynccontextmanager
async def asking(number: Number, asked: Asked) -> AsyncIterator[Sender]:
    """Call the network for the number inside. An error may change the number's status. Raises ApiError."""
    try:
        yield Sender(number.phone_number_id, number.access_token)
    except network.NetworkError as error:
        if await commit(partial(_apply, number, error)):
            deliver.bell.ring()
        raise answer_to(number, asked, error) from None


def _apply(number: Number, error: network.NetworkError) -> bool:
    with writing():
        return number_status.apply_error(number, error)
