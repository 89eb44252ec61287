"""Tag signup of the contract: the public routes behind a signup link (decision 22)."""

from typing import Any

from gateway.settings import get_settings
from handlers import numbers
from handlers.errors import (
    ApiError,
    ConflictError,
    Details,
    InvalidError,
    NotFoundError,
    ServerError,
    ThrottledError,
)
from models.number import NumberTakenError
from models.signup_link import SignupLink
from networks import errors as network
from tasks import onboarding
from webhooks.envelope import timestamp

RETRY_AFTER_THROTTLED = 60


def _find_open(slug: str) -> SignupLink:
    try:
        return onboarding.open_link(slug)
    except onboarding.SignupError as error:
        raise _answer_to_signup(error) from None


def get_signup_link(slug: str) -> dict[str, Any]:
    """GET /signup/{slug}."""
    link = _find_open(slug)
    settings = get_settings()
    return {
        "slug": link.slug,
        "accountName": link.account.name,
        "createdAt": timestamp(link.created_at),
        "expiresAt": timestamp(link.expires_at),
        "appId": settings.network_app_id,
        "configId": settings.network_config_id,
    }


def complete_signup(slug: str, payload: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """POST /signup/{slug}/complete."""
    link = _find_open(slug)
    claim = onboarding.SignupClaim(
        payload["code"], payload["phone_number_id"], payload["waba_id"], payload.get("pin")
    )
    try:
        number = onboarding.connect_number(link, claim)
    except onboarding.SignupError as error:
        raise _answer_to_signup(error) from None
    except NumberTakenError:
        raise ConflictError("This phone number is connected to another account.") from None
    except network.NetworkError as error:
        raise _answer_to_network(error) from None
    return numbers.render(number), 201


def _answer_to_signup(error: onboarding.SignupError) -> ApiError:
    match error:
        case onboarding.LinkUnknownError():
            return NotFoundError(str(error))
        case onboarding.LinkClosedError():
            return ConflictError(str(error))
        case onboarding.PinMismatchError():
            return ConflictError(str(error), details=Details(field="/pin"))
        case onboarding.CodeExpiredError():
            return InvalidError(str(error), details=Details(field="/code"))
        case onboarding.SignupThrottledError():
            return ThrottledError(str(error), retry_after=error.retry_after)
        case _:
            return InvalidError(str(error))


def _answer_to_network(error: network.NetworkError) -> ApiError:
    answer = _answer(error)
    answer.details = Details(network_code=error.network_code)
    return answer


def _answer(error: network.NetworkError) -> ApiError:
    match error:
        case network.ThrottledError():
            return ThrottledError(
                f"The messaging platform throttled the signup: {error}. Post the same again later.",
                retry_after=RETRY_AFTER_THROTTLED,
            )
        case network.NotReachedError() | network.AmbiguousError():
            return ServerError(
                "The messaging platform could not be reached. Post the same again: the signup goes on"
                " where it stopped."
            )
        case _:
            return InvalidError(f"The messaging platform refused the signup: {error}")
