"""Tag signup of the contract: the public routes behind a signup link (decision 22)."""

from typing import Any

from gateway.settings import get_settings
from handlers import numbers
from handlers.errors import (
    ApiError,
    ConflictError,
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
    link = SignupLink.find(slug)
    if link is None:
        raise NotFoundError(f"There is no signup link {slug}.")
    if reason := link.why_closed():
        raise ConflictError(f"This signup link is {reason}. Ask for a new one.")
    return link


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


def complete_signup(slug: str, body: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """POST /signup/{slug}/complete."""
    link = _find_open(slug)
    claim = onboarding.SignupClaim(body["code"], body["phone_number_id"], body["waba_id"])
    try:
        number = onboarding.connect_number(link, claim)
    except onboarding.ClaimRefusedError as error:
        raise InvalidError(str(error)) from None
    except NumberTakenError:
        raise ConflictError("This phone number is connected to another account.") from None
    except onboarding.LinkSpentError:
        raise ConflictError("This signup link is used. Ask for a new one.") from None
    except network.NetworkError as error:
        raise _answer_to(error) from None
    return numbers.render(number), 201


def _answer_to(error: network.NetworkError) -> ApiError:
    match error:
        case network.ThrottledError():
            return ThrottledError(
                f"The messaging platform throttled the signup: {error}",
                retry_after=RETRY_AFTER_THROTTLED,
            )
        case network.NotReachedError() | network.AmbiguousError():
            return ServerError(
                "The messaging platform could not be reached. Start the signup again."
            )
        case _:
            return InvalidError(f"The messaging platform refused the signup: {error}")
