"""Every outcome of a posted signup has its own page."""

import inspect
import re

import pytest

from dashboard import connect
from dashboard.connect import Next, Outcome
from dashboard.pages import render
from models.numbers.number import NumberTakenError
from networks import exceptions as network
from networks.whatsapp.rules import SIGNUP_PROBLEMS
from services import onboarding

NETWORK_ERRORS = [
    error
    for _, error in inspect.getmembers(network, inspect.isclass)
    if issubclass(error, network.NetworkError)
]


def _texts(outcome: Outcome) -> list[str]:
    """The title and the paragraphs of its page."""
    page = render("connect/outcome.html", outcome=outcome, slug="abc", fields={}).data.decode()
    return re.findall(r"<(?:h1|p)>(.*?)</(?:h1|p)>", page)


@pytest.mark.parametrize(
    ("error", "kind", "status", "following"),
    [
        (onboarding.LinkUnknownError("x"), "unknown", 404, Next.NOTHING),
        (onboarding.LinkClosedError("used"), "used", 410, Next.NOTHING),
        (onboarding.LinkClosedError("expired"), "expired", 410, Next.NOTHING),
        (onboarding.LinkClosedError("revoked"), "revoked", 410, Next.NOTHING),
        (NumberTakenError("1"), "taken", 409, Next.START),
        (onboarding.PinMismatchError("x"), "pin", 422, Next.PIN),
        (onboarding.CodeExpiredError("x"), "code-expired", 422, Next.START),
        (onboarding.SignupError("x"), "refused", 422, Next.START),
        (onboarding.SignupError("x", 3600), "waiting", 429, Next.RETRY),
        (network.NotReachedError("unreachable", "x"), "unreachable", 503, Next.RETRY),
        (network.AmbiguousError("timeout", "x"), "unreachable", 503, Next.RETRY),
        (network.ThrottledError("4", "x"), "throttled", 429, Next.RETRY),
        (network.NumberBannedError("131031", "x"), "blocked", 409, Next.START),
        (network.NumberLostError("190", "x"), "blocked", 409, Next.START),
        (network.NumberInDoubtError("10", "x"), "blocked", 409, Next.START),
        (network.AccountActionError("131042", "x"), "refused", 422, Next.START),
        (network.RefusedError("100", "x"), "refused", 422, Next.START),
        (ZeroDivisionError(), "crashed", 500, Next.RETRY),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_has_its_page(error: Exception, kind: str, status: int, following: Next) -> None:
    outcome = connect.of_error(error)
    assert (outcome.kind, outcome.status, outcome.next) == (kind, status, following)
    title, *paragraphs = _texts(outcome)
    assert title
    assert all(paragraphs)


def test_no_error_of_onboarding_or_the_network_passes_for_a_crash() -> None:
    own = [
        onboarding.LinkUnknownError("x"),
        *[error("1", "x") for error in NETWORK_ERRORS],
        *[
            onboarding.translate(network.RefusedError(code, "x"))
            for code, problem in SIGNUP_PROBLEMS.items()
            if problem.text
        ],
    ]
    assert len(own) > 10
    for error in own:
        assert error is not None
        assert connect.of_error(error).kind != "crashed"


@pytest.mark.parametrize(
    ("seconds", "title"),
    [
        (30, "Please wait: 1 min"),
        (60, "Please wait: 1 min"),
        (300, "Please wait: 5 min"),
        (3600, "Please wait: 1 h"),
        (7200, "Please wait: 2 h"),
    ],
)
def test_the_wait_is_shown_and_sent_as_retry_after(seconds: int, title: str) -> None:
    outcome = connect.of_error(onboarding.SignupError("Too many PINs.", seconds))
    assert _texts(outcome)[:2] == [title, "Too many PINs."]
    assert outcome.headers == {"Retry-After": str(seconds)}


def test_the_platforms_error_is_shown_with_its_code() -> None:
    outcome = connect.of_error(network.RefusedError("2200", "No callback"))
    assert any(re.search("No callback .*2200", text) for text in _texts(outcome))
