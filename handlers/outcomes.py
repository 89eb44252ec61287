"""What the network said, as an answer of the API (decision 15 of the design)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
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


def answer_to(
    number: Number, asked: Asked, error: network.NetworkError, message_id: str | None = None
) -> ApiError:
    """The answer to a request of the number that failed with this error.

    ``message_id`` is the message that was written down for it.
    """
    answer = _answer(number, asked, error)
    answer.details = Details(network_code=error.network_code, message_id=message_id)
    return answer


def _answer(number: Number, asked: Asked, error: network.NetworkError) -> ApiError:
    match error:
        case network.RefusedError():
            return InvalidError(f"The messaging network refused the {asked.thing}: {error}")
        case network.MediaGoneError():
            return NotFoundError(f"The messaging network has the {asked.thing} no longer: {error}")
        case network.ThrottledError():
            return ThrottledError(
                f"The messaging network throttled the number: {error}. {asked.later}",
                retry_after=RETRY_AFTER_THROTTLED,
            )
        case network.NotReachedError():
            return ServerError(
                f"The messaging network could not be reached. Nothing was {asked.done}; try again."
            )
        case network.AmbiguousError():
            return ServerError(f"The messaging network gave no clear answer, {asked.unclear}")
        case _:
            return ConflictError(_about_number(number, asked, error))


def _about_number(number: Number, asked: Asked, error: network.NetworkError) -> str:
    """What stands in the way is the number itself, or its owner."""
    match error:
        case network.NumberLostError():
            return f"The number {number.id} was disconnected by the network: {error}"
        case network.NumberBannedError():
            return f"The number {number.id} was banned by the network: {error}"
        case network.AccountActionError():
            return (
                f"The messaging network wants the owner of the number {number.id} to act first: "
                f"{error}. Nothing was {asked.done}. Settle this at the platform, then "
                f"{asked.verb} again."
            )
        case _:
            return (
                f"The messaging network does not let the number {number.id} {asked.verb}: {error}. "
                f"Nothing was {asked.done}. The number is being checked with the network: read its "
                "status, and try again while it is ACTIVE."
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
