"""gateway signup-links."""

import re
from typing import Any

import click

from gateway.commands.accounts import find_account
from gateway.commands.output import json_option, open_state, print_many, print_one
from gateway.settings import get_settings
from models.signup_link import SignupLink, SlugTakenError
from webhooks.envelope import timestamp

SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}", re.ASCII)


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


@signup_links.command()
@click.argument("account_id")
@click.option("--slug", required=True, help="The link's own part of its address.")
@json_option
def create(account_id: str, slug: str, *, as_json: bool) -> None:
    """Create a link, good for one signup within 7 days."""
    open_state()
    if not SLUG.fullmatch(slug):
        raise click.BadParameter("letters, digits and hyphens, at most 63", param_hint="--slug")
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
    print_many(rows, ("id", "slug", "state", "accountId"), as_json=as_json)


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
    print_one({"id": link_id, "revoked": True}, as_json=as_json)


COMMANDS = (signup_links,)
