"""Tag signup of the contract: the public routes of a signup link."""

from typing import Any

from models.errors import ConflictError, DomainError, FailedError, InvalidError, RateLimitedError
from models.numbers.number import NumberTakenError
from networks import exceptions as network
from networks.registry import described
from resources.error import network_words
from resources.number import number_object, signup_link_object
from services import onboarding
from services.network_failures import pause_of

TAKEN = (
    "This phone number is connected to another account. Disconnect it there first, or start again with"
    " another number."
)


def get_signup_link(slug: str) -> dict[str, Any]:
    """GET /signup/{slug}."""
    return signup_link_object(onboarding.open_link(slug))


def complete_signup(slug: str, payload: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """POST /signup/{slug}/complete."""
    claim = onboarding.SignupClaim(
        payload["code"],
        payload["phone_number_id"],
        payload["waba_id"],
        payload.get("pin"),
    )
    try:
        number = onboarding.connect_number(onboarding.open_link(slug), claim)
    except NumberTakenError:
        raise ConflictError(TAKEN) from None
    except network.NetworkError as error:
        raise _answer_to_network(error) from None
    return number_object(number), 201


def _answer_to_network(error: network.NetworkError) -> DomainError:
    known: Any = {"network_code": error.network_code, "network_words": network_words(error.details)}
    match error:
        case network.ThrottledError():
            return RateLimitedError(
                f"The messaging platform throttled the signup: {described(error)}"
                " Send the same request again later.",
                retry_after=pause_of(error),
                **known,
            )
        case network.NotReachedError() | network.AmbiguousError():
            return FailedError(
                "The messaging platform could not be reached. Send the same request again. The signup"
                " continues where it stopped.",
                **known,
            )
    return InvalidError(f"The messaging platform refused the signup: {described(error)}", **known)
