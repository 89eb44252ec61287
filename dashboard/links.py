"""/dashboard/links: signup links, through which an owner connects a number.

The reader of an open link can connect a number, so agents and viewers do not see the pages.
"""

from flask import Response, abort, request

from dashboard.guard import DEVELOPERS, account
from dashboard.site import PER_PAGE, FormError, blueprint, confirm, go, mine, offset, show
from gateway.settings import get_settings
from models.numbers.signup import (
    MAX_NAME,
    MAX_SLUG,
    SLUG,
    SignupLink,
    SlugTakenError,
    unguessable,
)

PATH = "/dashboard/links"
BAD_SLUG = "Use 1 to {} letters, digits and hyphens, the first no hyphen."


@blueprint.page("/links", DEVELOPERS)
def links() -> Response:
    """All links with their state."""
    found = SignupLink.page(account().id, PER_PAGE, offset())
    rows = [(row, state_of(row), url_of(row)) for row in found.rows]
    return show("links.html", found=found, rows=rows)


@blueprint.action("/links", DEVELOPERS, "link.created")
def create_link() -> Response:
    """Create a link, good for one signup within 7 days, and show it."""
    name, exact = request.form.get("slug", "").strip(), "exact" in request.form
    slug = name if exact else unguessable(name)
    if not SLUG.fullmatch(slug):
        raise FormError(BAD_SLUG.format(MAX_SLUG if exact else MAX_NAME))
    try:
        link = SignupLink.open(account(), slug)
    except SlugTakenError:
        raise FormError("This name is taken. Choose another one.", 409) from None
    return go(f"{PATH}/{link.id}", say="link-created")


@blueprint.page("/links/<link_id>", DEVELOPERS)
def link(link_id: str) -> Response:
    """One link, with its URL and QR code."""
    row = mine(SignupLink.by_id(link_id))
    return show("link.html", row=row, url=url_of(row), state=state_of(row))


@blueprint.action("/links/<link_id>/revoke", DEVELOPERS, "link.revoked", asks=True)
def revoke_link(link_id: str) -> Response:
    """Revoke an unused link."""
    row = mine(SignupLink.by_id(link_id))
    if question := confirm("revoke-link", row.slug, back=PATH):
        return abort(404) if row.why_closed() else question
    row.revoke()
    # If it was used in the meantime, the list reports that.
    is_revoked = state_of(mine(SignupLink.by_id(link_id))) == "revoked"
    return go(PATH, say="link-revoked" if is_revoked else "link-used")


def url_of(row: SignupLink) -> str:
    """The URL to share."""
    return f"{get_settings().public_url}/connect/{row.slug}"


def state_of(row: SignupLink) -> str:
    """``open``, ``used``, ``revoked`` or ``expired``."""
    return row.why_closed() or "open"
