"""gateway signup-links."""

from typing import Any

import click

from gateway.cli.accounts import find_account
from gateway.cli.output import json_option, open_state, print_many, print_one
from gateway.settings import get_settings
from models.signup_link import (
    MAX_NAME,
    MAX_SLUG,
    SLUG,
    SignupLink,
    SlugTakenError,
    unguessable,
)
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


def _slug(name: str, *, exact: bool) -> str:
    slug = name if exact else unguessable(name)
    if not SLUG.fullmatch(slug):
        most = MAX_SLUG if exact else MAX_NAME
        raise click.BadParameter(
            f"1 to {most} letters, digits and hyphens, the first no hyphen.", param_hint="--slug"
        )
    return slug


@signup_links.command()
@click.argument("account_id")
@click.option("--slug", required=True, help="The link's name; 16 random characters follow it.")
@click.option("--exact", is_flag=True, help="Use the name as it is; anybody can guess the link.")
@click.option("--yes", is_flag=True, help="Do not ask for a confirmation of --exact.")
@json_option
def create(account_id: str, slug: str, *, exact: bool, yes: bool, as_json: bool) -> None:
    """Create a link, good for one signup within 7 days."""
    slug = _slug(slug, exact=exact)
    open_state()
    account = find_account(account_id)
    if exact and not yes:
        risk = "Anybody who guesses it can connect a number to this account."
        click.confirm(f"The link will be /connect/{slug}. {risk} Create it?", abort=True, err=True)
    try:
        link = SignupLink.open(account, slug)
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
