"""Checks of the world outside: the network, the app, and the way back to us."""

from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import urlsplit

from gateway.ops.doctor.finding import Finding, ok, problem, warning
from gateway.settings import Settings
from networks.checkup import ask_time, shake_hands
from networks.current import get_network, wait_for
from networks.errors import AmbiguousError, NetworkError, NotReachedError, ThrottledError

ANSWER_SECONDS = 5
# Signatures and tokens of the platform stand more; logs that disagree are hard to read.
SKEW_SECONDS = 30
NO_TOKEN = "none"  # noqa: S105 - it is asked what a token is good for that is none


def check_public_url(settings: Settings) -> Finding:
    """The platform calls https addresses only."""
    url = settings.public_url
    if settings.uses_sandbox or urlsplit(url).scheme == "https":
        return ok(f"{url}")
    return problem(
        f"{url} is not https, and the network calls nothing else.",
        "Set GATEWAY_PUBLIC_URL to the https address of the proxy before the web part.",
    )


def check_network(settings: Settings) -> Finding:
    """The network answers, and its clock agrees with ours."""
    where = settings.network_url
    try:
        its_time = ask_time(where, ANSWER_SECONDS)
    except NotReachedError as error:
        start = "Start the sandbox: gateway sandbox" if settings.uses_sandbox else "Let it through."
        return problem(
            f"{where} is not reached. {error.reason}", f"Mend GATEWAY_NETWORK_URL. {start}"
        )
    if its_time is None:
        return ok(f"{where} answers.")
    skew = abs((datetime.now(UTC) - its_time.astimezone(UTC)).total_seconds())
    if skew > SKEW_SECONDS:
        return warning(f"The clocks differ by {skew:.0f} s.", "Keep this machine's clock by NTP.")
    return ok(f"{where} answers; the clocks agree.")


def check_app(settings: Settings) -> Finding:
    """The network takes the app's identifier and secret."""
    try:
        wait_for(get_network().inspect_token(NO_TOKEN))
    except (NotReachedError, AmbiguousError, ThrottledError) as error:
        return warning(f"Not known: {error.reason}", "Run this again when the network answers.")
    except NetworkError as error:
        return problem(
            f"The network refuses app {settings.network_app_id} with code {error.code}.",
            "Mend GATEWAY_NETWORK_APP_ID and GATEWAY_NETWORK_APP_SECRET.",
        )
    return ok(f"The network knows app {settings.network_app_id}.")


def check_callback_address(settings: Settings) -> Finding:
    """Whoever calls PUBLIC_URL reaches a web part with our verify token."""
    url = f"{settings.public_url}/network/callback"
    token = settings.network_verify_token.get_secret_value()
    try:
        status = shake_hands(url, token, ANSWER_SECONDS)
    except NotReachedError as error:
        return problem(
            f"{url} is not reached. {error.reason}",
            "Start the web part (gateway web), mend the proxy or GATEWAY_PUBLIC_URL.",
        )
    match status:
        case HTTPStatus.OK:
            return ok(f"{url} gives the challenge back.")
        case HTTPStatus.FORBIDDEN:
            return problem(
                "The web part has another verify token than these settings.",
                "Give all parts the same GATEWAY_NETWORK_VERIFY_TOKEN; start them again.",
            )
        case 0:
            return problem(f"{url} answers something else.", "Have the proxy pass it on to us.")
        case _:
            return problem(f"{url} answers {status}.", "Have the proxy pass it on to us.")
