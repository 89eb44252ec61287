"""/connect/{slug}: the owner of a number connects it through the platform's embedded signup.

Public, designed for phones. Every response is a page for people, also errors.
"""

import logging

from flask import Blueprint, Response, request

from dashboard import signup_form, signup_results
from dashboard.pages import CONTENT_TYPE, RenderedPage, render
from dashboard.platform import platform_of
from dashboard.signup_results import Next, Outcome
from gateway.settings import get_settings
from models.numbers.number import Number, NumberTakenError
from models.numbers.signup import SignupLink
from networks.exceptions import NetworkError
from services import onboarding
from services.onboarding import SignupClaim, SignupError

logger = logging.getLogger(__name__)

blueprint = Blueprint("connect", __name__)


@blueprint.get("/connect/<slug>")
def invite(slug: str) -> Response:
    """The invitation page, where the platform's SDK creates the claim."""
    try:
        link = onboarding.open_link(slug)
    except SignupError as error:
        return _respond(_outcome(signup_results.of_error(error), slug))
    platform = platform_of(get_settings())
    return _respond(
        render(
            "connect/invite.html",
            sources=platform.sources,
            slug=link.slug,
            account=link.account.name,
            platform=platform,
        )
    )


@blueprint.post("/connect/<slug>")
def connect(slug: str) -> Response:
    """Connect the claimed number at once: its code is valid for 30 seconds."""
    try:
        link = onboarding.open_link(slug)
        claim = signup_form.read_claim(request)
    except SignupError as error:
        return _respond(_outcome(signup_results.of_error(error), slug))
    except signup_form.BadPinError as error:
        return _respond(_outcome(signup_results.BAD_PIN, slug, error.claim))
    except signup_form.BadFormError as error:
        return _respond(_outcome(signup_results.BAD_FORM, slug, status=error.status))
    return _respond(_carry_out(link, claim))


def _carry_out(link: SignupLink, claim: SignupClaim) -> RenderedPage:
    try:
        number = onboarding.connect_number(link, claim)
    except (SignupError, NumberTakenError, NetworkError) as error:
        return _outcome(signup_results.of_error(error), link.slug, claim)
    except Exception as error:
        # Handled here instead of at the edge, because the retry form needs the claim.
        logger.exception("a signup crashed")
        return _outcome(signup_results.of_error(error), link.slug, claim)
    return _connected(link, number)


def _connected(link: SignupLink, number: Number) -> RenderedPage:
    return render(
        "connect/connected.html",
        account=link.account.name,
        phone_number=number.phone_number,
        display_name=number.display_name,
    )


def _outcome(
    outcome: Outcome, slug: str, claim: SignupClaim | None = None, *, status: int | None = None
) -> RenderedPage:
    posts_again = outcome.next in {Next.RETRY, Next.PIN}
    return render(
        "connect/outcome.html",
        status or outcome.status,
        headers=outcome.headers,
        outcome=outcome,
        slug=slug,
        fields=signup_form.as_fields(claim) if claim and posts_again else {},
    )


def _respond(page: RenderedPage) -> Response:
    return Response(page.body, page.status, page.headers, content_type=CONTENT_TYPE)
