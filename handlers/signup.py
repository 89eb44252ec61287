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


# Of each error that is not simply refused its answer, and the place in the body that it is about.
_ANSWERS: dict[type[onboarding.SignupError], tuple[type[ApiError], str | None]] = {
    onboarding.LinkUnknownError: (NotFoundError, None),
    onboarding.LinkClosedError: (ConflictError, None),
    onboarding.PinMismatchError: (ConflictError, "/pin"),
    onboarding.CodeExpiredError: (InvalidError, "/code"),
}


def _answer_to_signup(error: onboarding.SignupError) -> ApiError:
    if isinstance(error, onboarding.SignupThrottledError):
        return ThrottledError(str(error), retry_after=error.retry_after)
    kind, field = _ANSWERS.get(type(error), (InvalidError, None))
    return kind(str(error), details=Details(field=field))


def _answer_to_network(error: network.NetworkError) -> ApiError:
    details = Details(network_code=error.network_code)
    match error:
        case network.ThrottledError():
            text = (
                f"The messaging platform throttled the signup: {error}. Post the same again later."
            )
            return ThrottledError(text, retry_after=RETRY_AFTER_THROTTLED, details=details)
        case network.NotReachedError() | network.AmbiguousError():
            text = (
                "The messaging platform could not be reached. Post the same again: the signup goes on"
                " where it stopped."
            )
            return ServerError(text, details=details)
        case _:
            text = f"The messaging platform refused the signup: {error}"
            return InvalidError(text, details=details)
