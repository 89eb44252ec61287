"""gateway demo: new credentials for the account that the first ``gateway up`` creates."""

import json
import shlex
from typing import Any

import click

from gateway.cli.database import open_state
from gateway.cli.output import json_option, show
from gateway.settings import get_settings
from models.accounts.account import Account, ApiKey
from models.accounts.password import change_password
from models.accounts.user import User, new_password
from models.numbers.number import Number

NAME = "Demo"
EMAIL = "demo@example.com"
RECIPIENT = "15551234567"


@click.command()
@json_option
def demo(*, as_json: bool) -> None:
    """Create and print new credentials of the demo account.

    Only digests of keys and passwords are stored, so the old ones cannot be shown. The demo user gets a new
    password; earlier keys stay valid.
    """
    if not open_state().is_local:
        raise click.ClickException(
            "The demo account is for trials, and this network is a real one."
        )
    account = next((each for each in Account.all() if each.name == NAME), None)
    if account is None:
        hint = "gateway up makes one on its first run, without --no-demo."
        raise click.ClickException(f"There is no account {NAME}. {hint}")
    made = new_credentials(account)
    if as_json:
        show(made, as_json=True)
    else:
        greet(made)


def new_credentials(account: Account) -> dict[str, Any]:
    """A new API key and password of the account, with its oldest number."""
    number = next(iter(Number.all(account.id)), None)
    _, key = ApiKey.issue(account, "demo")
    return {
        "account": account.id,
        "key": key,
        "number": number and number.id,
        "phoneNumber": number and number.phone_number,
        "status": number and number.status,
        **_sign_in(account),
    }


def _sign_in(account: Account) -> dict[str, str]:
    """Email and password of the demo user. Empty if the email belongs to another account."""
    user, password = User.find(EMAIL), new_password()
    if user is None:
        User.enrol(account, EMAIL, password)
    elif user.account_id == account.id:
        change_password(user, password)
    else:
        return {}
    return {"email": EMAIL, "password": password}


def greet(made: dict[str, Any]) -> None:
    """Print credentials, and how to send a first message with them."""
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
