"""What the network said, as an answer of the API (decision 15 of the design)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial

from handlers.errors import (
    ApiError,
    ConflictError,
    Details,
    InvalidError,
    NotFoundError,
    ServerError,
    ThrottledError,
)
from models.database import writing
from models.number import Number
from models.writer import commit
from networks import errors as network
from tasks import deliver, lifecycle

RETRY_AFTER_THROTTLED = 60


@dataclass(frozen=True)
class Asked:
    """What the network was asked for: the words that an answer needs.

    ``later`` is what to do after a throttled request, ``unclear`` what is the case, and what to do,
    when nobody knows whether it was carried out.
    """

    verb: str
    done: str
    thing: str
    later: str
    unclear: str


# Of each error its answer, and the text of it.
ANSWERS: dict[type[network.NetworkError], tuple[type[ApiError], str]] = {
    network.RefusedError: (
        InvalidError,
        "The messaging network refused the {thing}: {error}",
    ),
    network.MediaGoneError: (
        NotFoundError,
        "The messaging network has the {thing} no longer: {error}",
    ),
    network.ThrottledError: (
        ThrottledError,
        "The messaging network throttled the number: {error}. {later}",
    ),
    network.NotReachedError: (
        ServerError,
        "The messaging network could not be reached. Nothing was {done}; try again.",
    ),
    network.AmbiguousError: (
        ServerError,
        "The messaging network gave no clear answer, {unclear}",
    ),
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
            "The messaging network wants the owner of the number {number} to act first: {error}. Nothing was "
            "{done}. Settle this at the platform, then {verb} again."
        ),
    ),
    network.NumberInDoubtError: (
        ConflictError,
        (
            "The messaging network does not let the number {number} {verb}: {error}. Nothing was {done}. The "
            "number is being checked with the network: read its status, and try again while it is ACTIVE."
        ),
    ),
}


def answer_to(
    number: Number, asked: Asked, error: network.NetworkError, message_id: str | None = None
) -> ApiError:
    """The answer to a request of the number that failed with this error.

    ``message_id`` is the message that was written down for it.
    """
    kind, text = ANSWERS[type(error)]
    return kind(
        text.format(number=number.id, error=error, **asdict(asked)),
        retry_after=RETRY_AFTER_THROTTLED if kind is ThrottledError else None,
        details=Details(network_code=error.network_code, message_id=message_id),
    )


@asynccontextmanager
async def asking(number: Number, asked: Asked) -> AsyncIterator[None]:
    """Ask the network inside; what it says of the number is done to it. Raises ApiError."""
    try:
        yield
    except network.NetworkError as error:
        if await commit(partial(_apply, number, error)):
            deliver.wake()
        raise answer_to(number, asked, error) from None


def _apply(number: Number, error: network.NetworkError) -> bool:
    with writing():
        return lifecycle.apply_error(number, error)
