"""gateway users: who signs in to the dashboard."""

import re
import sys
from collections.abc import Callable
from typing import Any

import click

from gateway.cli.accounts import find_account
from gateway.cli.output import json_option, open_state, print_many, print_one
from models.user import MAX_PASSWORD, MIN_PASSWORD, EmailTakenError, User, new_password, normalise
from models.user_session import change_password
from webhooks.envelope import timestamp

# Whether mail arrives there is not known here: it has to be one word with one at sign inside.
EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")

password_option: Callable[[Any], Any] = click.option(
    "--password-stdin", is_flag=True, help="Take the password from standard input."
)


def _render(user: User) -> dict[str, Any]:
    return {
        "id": user.id,
        "email": user.email,
        "accountId": user.account_id,
        "createdAt": timestamp(user.created_at),
    }


def _check_email(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not EMAIL.fullmatch(normalise(value)):
        raise click.BadParameter("is not an email address.")
    return value


def _read_password() -> str:
    password = sys.stdin.readline().rstrip("\r\n")
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise click.ClickException(f"A password has {MIN_PASSWORD} to {MAX_PASSWORD} characters.")
    return password


def _print_user(user: User, generated: str | None, *, as_json: bool) -> None:
    """With the password that was made here, which is shown this once."""
    shown = _render(user)
    if generated is not None:
        created_at = shown.pop("createdAt")
        shown |= {"password": generated, "createdAt": created_at}
    print_one(shown, as_json=as_json)


def _find(email: str) -> User:
    user = User.find(email)
    if user is None:
        raise click.ClickException(f"There is no user {email}. See: gateway users list")
    return user


@click.group()
def users() -> None:
    """People who sign in to the dashboard."""


@users.command()
@click.argument("email", callback=_check_email)
@click.option("--account", "account_id", required=True, help="The account they sign in to.")
@password_option
@json_option
def create(email: str, account_id: str, *, password_stdin: bool, as_json: bool) -> None:
    """Create a user. A password that is made here is shown this once."""
    open_state()
    account = find_account(account_id)
    generated = None if password_stdin else new_password()
    try:
        user = User.enrol(account, email, generated or _read_password())
    except EmailTakenError:
        raise click.ClickException(f"409 CONFLICT: there is a user {email} already.") from None
    _print_user(user, generated, as_json=as_json)


@users.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List all users."""
    open_state()
    columns = ("accountId", "createdAt", "email")
    print_many([_render(u) for u in User.all()], columns, as_json=as_json)


@users.command("reset-password")
@click.argument("email", callback=_check_email)
@password_option
@json_option
def reset_password(email: str, *, password_stdin: bool, as_json: bool) -> None:
    """Give a user another password and end their sessions."""
    open_state()
    user = _find(email)
    generated = None if password_stdin else new_password()
    change_password(user, generated or _read_password())
    _print_user(user, generated, as_json=as_json)


@users.command()
@click.argument("email", callback=_check_email)
@json_option
def remove(email: str, *, as_json: bool) -> None:
    """Remove a user and end their sessions."""
    open_state()
    user = _find(email)
    user.remove()
    print_one({"id": user.id, "email": user.email, "removed": True}, as_json=as_json)


COMMANDS = (users,)
