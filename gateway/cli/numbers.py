"""gateway numbers and gateway sandbox-connect."""

from typing import Any

import click

from gateway.cli.accounts import find_account
from gateway.cli.demo import SignupFailedError, connect_sandbox_number
from gateway.cli.output import json_option, open_state, print_many, print_one
from handlers.numbers import render
from models.notice import Notice
from models.number import Number
from webhooks.envelope import timestamp

MAX_LISTED = 100


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


def _render_notice(notice: Notice) -> dict[str, Any]:
    return {
        "id": notice.id,
        "createdAt": timestamp(notice.at),
        "wabaId": notice.waba_id,
        "numberId": notice.number_id,
        "field": notice.field,
        "event": notice.event,
        "value": notice.value,
    }


@numbers.command("notices")
@click.argument("number_id", required=False)
@json_option
def notices(number_id: str | None, *, as_json: bool) -> None:
    """List what the platform told of numbers and their accounts, newest first.

    Violations, restrictions, announced bans, quality, names, alerts. With NUMBER_ID those of the number
    and of its whole business account.
    """
    open_state()
    number = Number.find(number_id) if number_id else None
    if number_id and number is None:
        raise click.ClickException(f"There is no number {number_id}. See: gateway numbers list")
    rows = [_render_notice(n) for n in Notice.newest(MAX_LISTED, number)]
    print_many(rows, ("createdAt", "wabaId", "numberId", "event"), as_json=as_json)


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
