"""gateway accounts, gateway keys and gateway users: the customers, and who may use an account."""

import sys
from collections.abc import Callable
from typing import Any

import click

from gateway.cli import group
from gateway.cli.output import found, prints, rendered
from models.accounts import two_factor
from models.accounts.account import PLANS, Account, ApiKey, as_words
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

accounts = group("accounts")
keys = group("keys")
users = group("users")

COLUMNS = ("id", "name", "plan", "createdAt")


def find_account(account_id: str) -> Account:
    return found(Account.by_id(account_id), "account", account_id)


def _not_blank(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.BadParameter("must not be blank.")
    return value


def _words(
    _context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]
) -> list[str]:
    try:
        return as_words(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _with_state(account: Account) -> dict[str, Any]:
    state = "active" if account.suspended_at is None else "suspended"
    return rendered(account, *COLUMNS) | {"state": state} | rendered(account, "suspendedAt")


@accounts.command("create")
@click.argument("name", callback=_not_blank)
@click.option(
    "--plan",
    type=click.Choice(PLANS),
    required=True,
    help="Sets the limits of requests and webhooks.",
)
@prints()
def create_account(name: str, plan: str) -> dict[str, Any]:
    """Create an account."""
    return rendered(Account.open(name, plan), *COLUMNS)


@accounts.command("list")
@prints("id", "plan", "state", "name")
def list_accounts() -> list[dict[str, Any]]:
    """List all accounts."""
    return [_with_state(account) for account in Account.all()]


@accounts.command("set-plan")
@click.argument("account_id")
@click.argument("plan", type=click.Choice(PLANS))
@prints()
def set_plan(account_id: str, plan: str) -> dict[str, Any]:
    """Change an account's plan, effective from its next request.

    On a lower plan, the account keeps webhooks above the plan's limit.
    """
    account = find_account(account_id)
    account.amend(plan=plan)
    return _with_state(account)


@accounts.command()
@click.argument("account_id")
@prints()
def suspend(account_id: str) -> dict[str, Any]:
    """Suspend an account: refuse its keys and users.

    Callbacks of the network are still ingested, and events delivered.
    """
    account = find_account(account_id)
    account.suspend()
    return _with_state(account)


@accounts.command()
@click.argument("account_id")
@prints()
def resume(account_id: str) -> dict[str, Any]:
    """Resume a suspended account: accept its keys and users again."""
    account = find_account(account_id)
    account.resume()
    return _with_state(account)


@accounts.command()
@click.argument("account_id")
@click.option("--stop", multiple=True, callback=_words, help="A word that opts a person out.")
@click.option("--start", multiple=True, callback=_words, help="A word that opts a person in again.")
@prints()
def words(account_id: str, stop: list[str], start: list[str]) -> dict[str, Any]:
    """Set the words with which people opt out and in.

    A message that consists of one of these words opts its sender out of marketing, or in again. The command
    replaces all earlier words; without options it removes them. Repeat an option for more words: up to 20
    words of at most 40 characters.
    """
    account = find_account(account_id)
    account.set_opt_words(stop=stop, start=start)
    return {"id": account.id, "stopWords": account.stop_words, "startWords": account.start_words}


@keys.command("create")
@click.argument("account_id")
@click.option(
    "--name", default="default", show_default=True, callback=_not_blank, help="What the key is for."
)
@prints()
def create_key(account_id: str, name: str) -> dict[str, Any]:
    """Create a key. It is shown only once."""
    row, key = ApiKey.issue(find_account(account_id), name)
    return {"id": row.id, "key": key, **rendered(row, "name", "createdAt")}


@keys.command("list")
@prints("id", "accountId", "state", "name")
def list_keys() -> list[dict[str, Any]]:
    """List all keys, without the keys themselves."""
    columns = ("id", "accountId", "name", "createdAt", "revokedAt", "lastUsedAt")
    return [
        {"state": "active" if key.revoked_at is None else "revoked", **rendered(key, *columns)}
        for key in ApiKey.all()
    ]


@keys.command()
@click.argument("key_id")
@prints()
def revoke(key_id: str) -> dict[str, Any]:
    """Revoke a key immediately."""
    found(ApiKey.by_id(key_id), "key", key_id).revoke()
    return {"id": key_id, "revoked": True}


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
