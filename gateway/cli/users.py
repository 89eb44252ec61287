"""gateway users: who signs in to the dashboard."""

import sys
from collections.abc import Callable
from typing import Any

import click

from gateway.cli import group
from gateway.cli.accounts import find_account
from gateway.cli.output import found, prints, rendered
from models.accounts import two_factor
from models.accounts.audit import Audit
from models.accounts.password import change_password
from models.accounts.user import (
    EMAIL,
    MAX_PASSWORD,
    MIN_PASSWORD,
    EmailTakenError,
    Role,
    User,
    new_password,
    normalise,
)

users = group("users")


def _check_email(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not EMAIL.fullmatch(normalise(value)):
        raise click.BadParameter("is not an email address.")
    return value


email_argument: Callable[[Any], Any] = click.argument("email", callback=_check_email)
password_option: Callable[[Any], Any] = click.option(
    "--password-stdin", is_flag=True, help="Take the password from standard input."
)


def _choose_password(*, from_stdin: bool) -> tuple[str, dict[str, str]]:
    """A password, typed or generated, and its printed form: only a generated one is shown."""
    if not from_stdin:
        generated = new_password()
        return generated, {"password": generated}
    typed = sys.stdin.readline().rstrip("\r\n")
    if not MIN_PASSWORD <= len(typed) <= MAX_PASSWORD:
        raise click.ClickException(f"A password has {MIN_PASSWORD} to {MAX_PASSWORD} characters.")
    return typed, {}


def _rendered(user: User, shown: dict[str, str]) -> dict[str, Any]:
    return rendered(user, "id", "email", "accountId", "role") | shown | rendered(user, "createdAt")


@users.command()
@email_argument
@click.option("--account", "account_id", required=True, help="The account they sign in to.")
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    default=Role.OWNER.value,
    show_default=True,
    help="What they may do.",
)
@password_option
@prints()
def create(email: str, account_id: str, role: str, *, password_stdin: bool) -> dict[str, Any]:
    """Create a user. A generated password is shown only once."""
    account = find_account(account_id)
    password, shown = _choose_password(from_stdin=password_stdin)
    try:
        user = User.enrol(account, email, password, Role(role))
    except EmailTakenError:
        raise click.ClickException(f"409 CONFLICT: there is a user {email} already.") from None
    Audit.note_operator(user, "user.created", email=user.email, role=role)
    return _rendered(user, shown)


@users.command("list")
@prints("role", "accountId", "createdAt", "email")
def list_() -> list[dict[str, Any]]:
    """List all users."""
    return [_rendered(user, {}) for user in User.all()]


@users.command("reset-password")
@email_argument
@password_option
@prints()
def reset_password(email: str, *, password_stdin: bool) -> dict[str, Any]:
    """Set a new password for a user and end their sessions."""
    user = found(User.find(email), "user", email)
    password, shown = _choose_password(from_stdin=password_stdin)
    change_password(user, password)
    Audit.note_operator(user, "user.password_reset")
    return _rendered(user, shown)


@users.command("disable-two-factor")
@email_argument
@prints()
def disable_two_factor(email: str) -> dict[str, Any]:
    """Turn off a user's two-factor authentication."""
    user = found(User.find(email), "user", email)
    two_factor.turn_off(user)
    Audit.note_operator(user, "user.two_factor_disabled")
    return _rendered(user, {})


@users.command()
@email_argument
@click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")
@prints()
def remove(email: str, *, yes: bool) -> dict[str, Any]:
    """Remove a user and end their sessions."""
    user = found(User.find(email), "user", email)
    if not yes:
        click.confirm(f"Remove {user.email} of {user.account_id}?", abort=True, err=True)
    user.remove()
    return {"id": user.id, "email": user.email, "removed": True}
