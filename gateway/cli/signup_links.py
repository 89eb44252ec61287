"""gateway signup-links."""

from typing import Any

import click

from gateway.cli.accounts import find_account
from gateway.cli.output import json_option, open_state, print_many, print_one
from gateway.settings import get_settings
from models.signup_link import SLUG, SignupLink, SlugTakenError
from webhooks.envelope import timestamp


def _render(link: SignupLink) -> dict[str, Any]:
    return {
        "id": link.id,
        "slug": link.slug,
        "url": f"{get_settings().public_url}/connect/{link.slug}",
        "createdAt": timestamp(link.created_at),
    }


@click.group("signup-links")
def signup_links() -> None:
    """Signup links, through which an owner connects a number."""


def _check_slug(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not SLUG.fullmatch(value):
        raise click.BadParameter("1 to 63 letters, digits and hyphens, the first no hyphen.")
    return value


@signup_links.command()
@click.argument("account_id")
@click.option(
    "--slug", required=True, callback=_check_slug, help="The link's own part of its address."
)
@json_option
def create(account_id: str, slug: str, *, as_json: bool) -> None:
    """Create a link, good for one signup within 7 days."""
    open_state()
    try:
        link = SignupLink.open(find_account(account_id), slug)
    except SlugTakenError:
        raise click.ClickException(f"409 CONFLICT: the slug {slug} is taken.") from None
    print_one(_render(link), as_json=as_json)


@signup_links.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List all links with their state."""
    open_state()
    rows = [
        _render(link) | {"accountId": link.account_id, "state": link.why_closed() or "open"}
        for link in SignupLink.all()
    ]
    print_many(rows, ("id", "state", "createdAt", "slug"), as_json=as_json)


@signup_links.command()
@click.argument("link_id")
@json_option
def revoke(link_id: str, *, as_json: bool) -> None:
    """Close an unused link."""
    open_state()
    if not SignupLink.revoke(link_id):
        raise click.ClickException(
            f"There is no signup link {link_id}. See: gateway signup-links list"
        )
    if any(link.id == link_id and link.why_closed() == "used" for link in SignupLink.all()):
        raise click.ClickException(f"The signup link {link_id} is used already.")
    print_one({"id": link_id, "revoked": True}, as_json=as_json)


COMMANDS = (signup_links,)
