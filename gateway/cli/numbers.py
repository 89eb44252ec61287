"""gateway numbers, gateway signup-links and gateway sandbox-connect."""

from typing import Any

import click

from gateway.cli import group
from gateway.cli.accounts import find_account
from gateway.cli.database import open_state
from gateway.cli.output import found, json_option, prints, rendered, show
from gateway.cli.trigger import call_sandbox
from gateway.settings import get_settings
from models.accounts.account import Account
from models.clock import timestamp
from models.numbers.notice import Notice
from models.numbers.number import Number, NumberStatus, NumberTakenError
from models.numbers.signup import MAX_NAME, MAX_SLUG, SLUG, SignupLink, SlugTakenError, unguessable
from networks.exceptions import NetworkError
from networks.registry import described
from resources.number import number_object
from services import callback_routes, number_checks, onboarding

numbers = group("numbers")
signup_links = group("signup-links")

MAX_LISTED = 100


@numbers.command("list")
@click.option("--account", "account_id", help="Only the numbers of this account.")
@prints("id", "phoneNumber", "status", "statusReason")
def list_numbers(account_id: str | None) -> list[dict[str, Any]]:
    """List numbers."""
    if account_id is not None:
        find_account(account_id)
    return [number_object(number) for number in Number.all(account_id)]


@numbers.command()
@click.argument("number_id", required=False)
@prints("createdAt", "wabaId", "numberId", "event")
def notices(number_id: str | None) -> list[dict[str, Any]]:
    """List the platform's notices about numbers and their accounts, newest first.

    Violations, restrictions, announced bans, quality, names, alerts. With NUMBER_ID, notices about the number
    and its whole business account.
    """
    number = found(Number.find(number_id), "number", number_id) if number_id else None
    columns = ("id", "wabaId", "numberId", "field", "event", "value")
    return [
        {"createdAt": timestamp(notice.at), **rendered(notice, *columns)}
        for notice in Notice.newest(MAX_LISTED, number)
    ]


@numbers.command()
@click.argument("number_id", required=False)
@click.option("--all", "is_all", is_flag=True, help="All active numbers with a problem.")
@json_option
def subscribe(number_id: str | None, *, is_all: bool, as_json: bool) -> None:
    """Subscribe again to the callbacks about numbers, and check them.

    It adds the app to the number's business account, ends overrides of the callback address, and subscribes
    the app to all fields that the gateway handles. With --all it continues after a number that fails.
    """
    if (number_id is None) is not is_all:
        raise click.UsageError("Name a number, or use --all.")
    open_state()
    one = [] if number_id is None else [found(Number.find(number_id), "number", number_id)]
    active = [each for each in Number.all() if each.status == NumberStatus.ACTIVE]
    chosen = [each for each in active if each.problems] if is_all else one
    failures = list(filter(None, map(_subscribed, chosen)))
    rows = [number_object(Number.get_by_id(number.id)) for number in chosen]
    show(rows, "id", "phoneNumber", "problems", as_json=as_json)
    if failures:
        raise click.ClickException("\n".join(failures))


def _subscribed(number: Number) -> str | None:
    """Subscribe again to the callbacks about a number. Returns why that failed."""
    if number.status != NumberStatus.ACTIVE:
        return f"The number {number.id} is {number.status}. It gets no callbacks."
    try:
        callback_routes.restore(number)
    except NetworkError as error:
        return f"{number.id}: {described(error)}"
    number_checks.check_callbacks(number)
    return None


def _slug(context: click.Context, _parameter: click.Parameter, name: str) -> str:
    exact = context.params["exact"]
    slug = name if exact else unguessable(name)
    if not SLUG.fullmatch(slug):
        most = MAX_SLUG if exact else MAX_NAME
        raise click.BadParameter(f"1 to {most} letters, digits and hyphens, the first no hyphen.")
    return slug


def _render_link(link: SignupLink) -> dict[str, Any]:
    url = f"{get_settings().public_url}/connect/{link.slug}"
    return rendered(link, "id", "slug") | {"url": url} | rendered(link, "createdAt")


@signup_links.command("create")
@click.argument("account_id")
@click.option(
    "--slug", required=True, callback=_slug, help="The link's name; 16 random characters follow it."
)
@click.option(
    "--exact",
    is_flag=True,
    is_eager=True,
    help="Use the name as it is; anybody can guess the link.",
)
@click.option("--yes", is_flag=True, help="Do not ask for a confirmation of --exact.")
@prints()
def create_link(account_id: str, slug: str, *, exact: bool, yes: bool) -> dict[str, Any]:
    """Create a link, valid for one signup within 7 days."""
    account = find_account(account_id)
    if exact and not yes:
        risk = "Anybody who guesses it can connect a number to this account."
        click.confirm(f"The link will be /connect/{slug}. {risk} Create it?", abort=True, err=True)
    try:
        return _render_link(SignupLink.open(account, slug))
    except SlugTakenError:
        raise click.ClickException(f"409 CONFLICT: the slug {slug} is taken.") from None


@signup_links.command("list")
@prints("id", "state", "createdAt", "slug")
def list_links() -> list[dict[str, Any]]:
    """List all links with their state."""
    return [
        _render_link(link) | {"accountId": link.account_id, "state": link.why_closed() or "open"}
        for link in SignupLink.all()
    ]


@signup_links.command()
@click.argument("link_id")
@prints()
def revoke(link_id: str) -> dict[str, Any]:
    """Revoke an unused link."""
    found(SignupLink.by_id(link_id), "signup link", link_id).revoke()
    if SignupLink.get_by_id(link_id).why_closed() == "used":
        raise click.ClickException(f"The signup link {link_id} is used already.")
    return {"id": link_id, "revoked": True}


@click.command("sandbox-connect")
@click.argument("account_id")
@click.option("--phone", help="Digits of the number; default: the sandbox picks one.")
@prints()
def sandbox_connect(account_id: str, phone: str | None) -> dict[str, Any]:
    """Run the whole embedded signup against the sandbox."""
    return number_object(connect_sandbox_number(find_account(account_id), phone))


def connect_sandbox_number(account: Account, phone: str | None) -> Number:
    """Do the browser's part of the embedded signup. Fails if the signup fails."""
    settings = get_settings()
    if not settings.uses_sandbox:
        raise click.ClickException("GATEWAY_NETWORK_URL is not the local sandbox.")
    signup = call_sandbox(settings.network_url, "signup", {"phone": phone} if phone else {})
    link = SignupLink.open(account, unguessable("sandbox"))
    claim = onboarding.SignupClaim(signup["code"], signup["phone_number_id"], signup["waba_id"])
    try:
        return onboarding.connect_number(link, claim)
    except NumberTakenError:
        reason = "The phone number is connected to another account."
    except NetworkError as error:
        reason = described(error)
    except onboarding.SignupError as error:
        reason = str(error)
    link.revoke()
    raise click.ClickException(reason)
