"""The demo account of a first ``gateway up``. gateway demo: new credentials for it."""

import json
import shlex
from typing import Any

import click

from gateway.cli.database import open_state
from gateway.cli.numbers import connect_sandbox_number
from gateway.cli.output import json_option, show
from gateway.settings import Settings, get_settings
from models.accounts.account import Account
from models.accounts.password import replace_password
from models.accounts.user import User, hash_password, new_password
from models.numbers.number import Number
from services import accounts as service
from services import members
from services.onboarding import connect_without_signup

NAME = "Demo"
EMAIL = "demo@example.com"
RECIPIENT = "15551234567"
# Its number on a network without a signup.
PHONE = "15550001000"


def first_credentials(settings: Settings, accounts: list[Account]) -> dict[str, Any] | None:
    """Those of the demo account with a number. None, and a line on stderr, if no number can be connected."""
    # An earlier first run may have stopped after this step.
    account = accounts[0] if accounts else service.create(NAME, "starter")
    try:
        if settings.uses_sandbox:
            connect_sandbox_number(account, None)
        else:
            connect_without_signup(account, settings.network, PHONE)
    except click.ClickException as error:
        click.echo(f"No demo number: {error.message}", err=True)
        return None
    return _new_credentials(account)


@click.command()
@json_option
def demo(*, as_json: bool) -> None:
    """Create and print new credentials of the demo account.

    Only digests of keys and passwords are stored, so the old ones cannot be shown. The demo user gets a new
    password; earlier keys stay valid.
    """
    if reason := open_state().production_reason:
        raise click.ClickException(
            f"The demo account is for trials, and this is production: {reason}"
        )
    account = next((each for each in Account.all() if each.name == NAME), None)
    if account is None:
        hint = "gateway up makes one on its first run, without --no-demo."
        raise click.ClickException(f"There is no account {NAME}. {hint}")
    made = _new_credentials(account)
    if as_json:
        show(made, as_json=True)
    else:
        print_credentials(made)


def _new_credentials(account: Account) -> dict[str, Any]:
    """A new API key and password of the account, with its oldest number."""
    number = next(iter(Number.all(account.id)), None)
    _, key = service.create_key(account, "demo")
    return {
        "account": account.id,
        "key": key,
        "number": number and number.id,
        "phoneNumber": number and number.phone_number,
        "status": number and number.status,
        **_sign_in(account),
    }


def _sign_in(account: Account) -> dict[str, str]:
    """Email and a new password of the demo user. Empty if the email belongs to other accounts."""
    users, password = User.person(EMAIL), new_password()
    if not users:
        members.create(account, EMAIL, password)
    elif account.id in {user.account_id for user in users}:
        replace_password(users[0], hash_password(password, EMAIL))
    else:
        return {}
    return {"email": EMAIL, "password": password}


def print_credentials(made: dict[str, Any]) -> None:
    click.echo(f"Account     {made['account']}")
    click.echo(f"API key     {made['key']}")
    if made["number"]:
        click.echo(f"Number      {made['number']}  {made['phoneNumber']}  {made['status']}")
    if "email" in made:
        click.echo(f"Email       {made['email']}\nPassword    {made['password']}")
    if made["number"]:
        click.echo(f"\nSend a first message:\n\n{_curl(made)}\n")


def _curl(made: dict[str, Any]) -> str:
    text = {"body": "Hello"}
    body = json.dumps({"number_id": made["number"], "to": RECIPIENT, "type": "text", "text": text})
    headers = ["-H", f"Authorization: Bearer {made['key']}", "-H", "Content-Type: application/json"]
    url = f"{get_settings().public_url}/api/messages/send"
    return shlex.join(["curl", url, *headers, "-d", body])
