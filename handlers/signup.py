"""Tag signup of the contract: the public routes of a signup link."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gateway.settings import get_settings
from models.numbers.number import NumberTakenError
from networks import exceptions as network
from networks.explanations import described
from resources.number import number_object
from services import onboarding
from services.errors import ApiError, ConflictError, InvalidError, NotFoundError, ThrottledError
from webhooks.envelope import timestamp

RETRY_AFTER_THROTTLED = 60


def get_signup_link(slug: str) -> dict[str, Any]:
    """GET /signup/{slug}."""
    with _answering():
        link = onboarding.open_link(slug)
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
    claim = onboarding.SignupClaim(
        payload["code"], payload["phone_number_id"], payload["waba_id"], payload.get("pin")
    )
    with _answering():
        number = onboarding.connect_number(onboarding.open_link(slug), claim)
    return number_object(number), 201


@contextmanager
def _answering() -> Iterator[None]:
    """Convert the errors of a signup to responses. Raises ApiError."""
    try:
        yield
    except onboarding.SignupError as error:
        if error.retry_after is not None:
            raise ThrottledError(str(error), retry_after=error.retry_after) from None
        kind, field = _ANSWERS.get(type(error), (InvalidError, None))
        raise kind(str(error), field=field) from None
    except NumberTakenError:
        raise ConflictError(
            "This phone number is connected to another account. Disconnect it there first, or start again"
            " with another number."
        ) from None
    except network.NetworkError as error:
        raise _answer_to_network(error) from None


# The response and the field of each error that is not a plain 400.
_ANSWERS: dict[type[onboarding.SignupError], tuple[type[ApiError], str | None]] = {
    onboarding.LinkUnknownError: (NotFoundError, None),
    onboarding.LinkClosedError: (ConflictError, None),
    onboarding.PinMismatchError: (ConflictError, "/pin"),
    onboarding.CodeExpiredError: (InvalidError, "/code"),
}


def _answer_to_network(error: network.NetworkError) -> ApiError:
    code = error.network_code
    match error:
        case network.ThrottledError():
            return ThrottledError(
                f"The messaging platform throttled the signup: {described(error)}"
                " Send the same request again later.",
                retry_after=RETRY_AFTER_THROTTLED,
                network_code=code,
            )
        case network.NotReachedError() | network.AmbiguousError():
            return ApiError(
                "The messaging platform could not be reached. Send the same request again. The signup"
                " continues where it stopped.",
                network_code=code,
            )
    return InvalidError(
        f"The messaging platform refused the signup: {described(error)}", network_code=code
    )
