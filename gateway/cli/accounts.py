"""gateway accounts."""

from typing import Any

import click

from gateway.cli.output import json_option, open_state, print_many, print_one
from models.account import PLANS, Account
from webhooks.envelope import timestamp


def render(account: Account) -> dict[str, Any]:
    """An account as it is printed."""
    return {
        "id": account.id,
        "name": account.name,
        "plan": account.plan,
        "createdAt": timestamp(account.created_at),
    }


def _render_with_state(account: Account) -> dict[str, Any]:
    since = account.suspended_at
    return render(account) | {
        "state": "active" if since is None else "suspended",
        "suspendedAt": None if since is None else timestamp(since),
    }


def find_account(account_id: str) -> Account:
    """The account. Fails when there is none."""
    account = Account.find(account_id)
    if account is None:
        raise click.ClickException(f"There is no account {account_id}. See: gateway accounts list")
    return account


def not_blank(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    """A name that can be read."""
    if not value.strip():
        raise click.BadParameter("must not be blank.")
    return value


@click.group()
def accounts() -> None:
    """Accounts: who owns numbers, keys and webhooks."""


@accounts.command()
@click.argument("name", callback=not_blank)
@click.option("--plan", type=click.Choice(PLANS), required=True, help="Sets the rate limit.")
@json_option
def create(name: str, plan: str, *, as_json: bool) -> None:
    """Create an account."""
    open_state()
    print_one(render(Account.open(name, plan)), as_json=as_json)


@accounts.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List all accounts."""
    open_state()
    rows = [_render_with_state(a) for a in Account.all()]
    print_many(rows, ("id", "plan", "state", "name"), as_json=as_json)


@accounts.command()
@click.argument("account_id")
@json_option
def suspend(account_id: str, *, as_json: bool) -> None:
    """Refuse an account's keys and the sign-in of its users.

    Events of the network are still taken in and delivered.
    """
    open_state()
    account = find_account(account_id)
    account.suspend()
    print_one(_render_with_state(account), as_json=as_json)


@accounts.command()
@click.argument("account_id")
@json_option
def resume(account_id: str, *, as_json: bool) -> None:
    """Let the keys and users of a suspended account in again."""
    open_state()
    account = find_account(account_id)
    account.resume()
    print_one(_render_with_state(account), as_json=as_json)


COMMANDS = (accounts,)
