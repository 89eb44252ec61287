"""gateway numbers and gateway sandbox-connect."""

import click

from gateway.commands.accounts import find_account
from gateway.commands.output import json_option, open_state, print_many, print_one
from gateway.demo import SignupFailedError, connect_sandbox_number
from handlers.numbers import render
from models.number import Number


@click.group()
def numbers() -> None:
    """Connected phone numbers."""


@numbers.command("list")
@click.option("--account", "account_id", help="Only the numbers of this account.")
@json_option
def list_(account_id: str | None, *, as_json: bool) -> None:
    """List numbers."""
    open_state()
    if account_id is not None:
        find_account(account_id)
    rows = [render(n) for n in Number.all(account_id)]
    print_many(rows, ("id", "phoneNumber", "status", "displayName"), as_json=as_json)


@click.command("sandbox-connect")
@click.argument("account_id")
@click.option("--phone", help="Digits of the number; the sandbox picks one otherwise.")
@json_option
def sandbox_connect(account_id: str, phone: str | None, *, as_json: bool) -> None:
    """Run the whole embedded signup against the sandbox."""
    settings = open_state()
    if not settings.uses_sandbox:
        raise click.ClickException("GATEWAY_NETWORK_URL is not the local sandbox.")
    try:
        number = connect_sandbox_number(settings, find_account(account_id), phone)
    except SignupFailedError as error:
        raise click.ClickException(str(error)) from None
    print_one(render(number), as_json=as_json)


COMMANDS = (numbers, sandbox_connect)
