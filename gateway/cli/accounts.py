"""gateway accounts, gateway keys and gateway users: the customers, and who may use an account."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from gateway.cli import group
from gateway.cli.options import expires_option
from gateway.cli.output import found, prints, rendered
from models import clock
from models.accounts.account import (
    PLANS,
    Account,
    ApiKey,
    ConsentScope,
    as_languages,
    as_words,
)
from models.accounts.password_strength import WeakPasswordError, check_password
from models.accounts.scope import Scope
from models.accounts.user import (
    EmailTakenError,
    Role,
    User,
    new_password,
    normalise,
)
from models.addresses import is_email
from models.errors import ConflictError, DomainError
from models.numbers.number import Number
from services import accounts as service
from services import members
from services.credentials import OPERATOR, change_password, turn_off_two_factor

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


def _checked(check: Callable[[Iterable[str]], list[str]]) -> Callable[..., list[str]]:
    """A callback for the values of an option. What ``check`` raises is the problem."""

    def read(
        _context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]
    ) -> list[str]:
        try:
            return check(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return read


def _with_state(account: Account) -> dict[str, Any]:
    state = "active" if account.suspended_at is None else "suspended"
    return rendered(account, *COLUMNS) | {"state": state} | rendered(account, "suspendedAt")


@accounts.command("create")
@click.argument("name", callback=_not_blank)
@click.option(
    "--plan",
    type=click.Choice(PLANS),
    required=True,
    help="Sets the limits of requests, webhooks and users.",
)
@prints()
def create_account(name: str, plan: str) -> dict[str, Any]:
    """Create an account."""
    return rendered(service.create(name, plan), *COLUMNS)


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

    On a lower plan, the account keeps webhooks and users above the plan's limits.
    """
    account = find_account(account_id)
    service.set_plan(account, plan)
    return _with_state(account)


@accounts.command()
@click.argument("account_id")
@prints()
def suspend(account_id: str) -> dict[str, Any]:
    """Suspend an account: refuse its keys and users.

    Callbacks of the network are still ingested, and events delivered.
    """
    account = find_account(account_id)
    service.suspend(account)
    return _with_state(account)


@accounts.command()
@click.argument("account_id")
@prints()
def resume(account_id: str) -> dict[str, Any]:
    """Resume a suspended account: accept its keys and users again."""
    account = find_account(account_id)
    service.resume(account)
    return _with_state(account)


@accounts.command()
@click.argument("account_id")
@click.option(
    "--stop", multiple=True, callback=_checked(as_words), help="A word that opts a person out."
)
@click.option(
    "--start",
    multiple=True,
    callback=_checked(as_words),
    help="A word that opts a person in again.",
)
@prints()
def words(account_id: str, stop: list[str], start: list[str]) -> dict[str, Any]:
    """Set the words with which people opt out and in.

    A message that consists of one of these words opts its sender out of marketing, or in again. The command
    replaces all earlier words; without options it removes them. Repeat an option for more words: up to 20
    words of at most 40 characters.
    """
    account = find_account(account_id)
    service.set_opt_words(account, stop=stop, start=start)
    return {"id": account.id, "stopWords": account.stop_words, "startWords": account.start_words}


@accounts.command()
@click.argument("account_id")
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in ConsentScope]),
    help="Whether an opt-out holds for all numbers of the account, or for one.",
)
@click.option(
    "--language",
    "languages",
    multiple=True,
    callback=_checked(as_languages),
    help="A language of the built-in words. Repeat it for more; English is always among them.",
)
@click.option("--automatic", is_flag=True, help="Built-in words in the languages of the templates.")
@click.option("--no-words", is_flag=True, help="No built-in words.")
@click.option("--answer", help="The message to a person who opted out by a word.")
@click.option("--no-answer", is_flag=True, help="No message.")
@prints()
def consent(
    account_id: str,
    scope: str | None,
    languages: list[str],
    *,
    automatic: bool,
    no_words: bool,
    answer: str | None,
    no_answer: bool,
) -> dict[str, Any]:
    """Show and change how people opt out of marketing.

    Without options it changes nothing.
    """
    if sum([bool(languages), automatic, no_words]) > 1:
        raise click.UsageError("Give only one of --language, --automatic and --no-words.")
    if answer is not None and no_answer:
        raise click.UsageError("Give only one of --answer and --no-answer.")
    changes: dict[str, Any] = {}
    if scope is not None:
        changes["scope"] = ConsentScope(scope)
    if languages or automatic or no_words:
        changes["languages"] = None if automatic else languages
    if answer is not None or no_answer:
        changes["answer"] = answer
    account = find_account(account_id)
    try:
        service.set_consent(account, **changes)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return {"id": account.id, **service.consent_of(account)}


@keys.command("create")
@click.argument("account_id")
@click.option(
    "--name", default="default", show_default=True, callback=_not_blank, help="What the key is for."
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([str(scope) for scope in Scope]),
    help="What it may do; default: everything.",
)
@click.option(
    "--number", "numbers", multiple=True, help="Only this number, or these; default: all."
)
@expires_option()
@prints()
def create_key(
    account_id: str,
    name: str,
    scopes: tuple[str, ...],
    numbers: tuple[str, ...],
    expires: int | None,
) -> dict[str, Any]:
    """Create a key. It is shown only once."""
    account = find_account(account_id)
    try:
        number_ids = [Number.owned(each, account.id).id for each in numbers]
    except DomainError as error:
        raise click.ClickException(str(error)) from None
    if expires is not None and expires <= clock.now():
        raise click.UsageError("--expires is in the past.")
    row, key = service.create_key(
        account, name, scopes=scopes, number_ids=number_ids, expires_at=expires
    )
    shown = rendered(row, "name", "createdAt") | service.limits_of(row)
    return {"id": row.id, "key": key, **shown}


@keys.command("list")
@prints("id", "accountId", "state", "name")
def list_keys() -> list[dict[str, Any]]:
    """List all keys, without the keys themselves."""
    columns = ("id", "accountId", "name", "createdAt", "revokedAt", "lastUsedAt")
    return [
        {"state": _state_of(key), **rendered(key, *columns), **service.limits_of(key)}
        for key in ApiKey.all()
    ]


def _state_of(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.has_expired(clock.now()) else "active"


@keys.command()
@click.argument("key_id")
@prints()
def revoke(key_id: str) -> dict[str, Any]:
    """Revoke a key immediately."""
    service.revoke_key(found(ApiKey.by_id(key_id), "key", key_id))
    return {"id": key_id, "revoked": True}


def _check_email(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not is_email(normalise(value)):
        raise click.BadParameter(f"{value!r} is not an email address such as ana@example.com.")
    return value


new_email_argument: Callable[[Any], Any] = click.argument("email", callback=_check_email)
# An existing user may have been created under another rule.
email_argument: Callable[[Any], Any] = click.argument("email")
password_option: Callable[[Any], Any] = click.option(
    "--password-stdin", is_flag=True, help="Take the password from standard input."
)


def _choose_password(email: str, *, from_stdin: bool) -> tuple[str, dict[str, str]]:
    """A password, typed or generated, and its printed form: only a generated one is shown."""
    if not from_stdin:
        generated = new_password()
        return generated, {"password": generated}
    typed = sys.stdin.readline().rstrip("\r\n")
    try:
        check_password(typed, email)
    except WeakPasswordError as error:
        raise click.ClickException(str(error)) from None
    return typed, {}


def _rendered(user: User, shown: dict[str, str]) -> dict[str, Any]:
    return rendered(user, "id", "email", "accountId", "role") | shown | rendered(user, "createdAt")


@users.command()
@new_email_argument
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
    """Create a user. A generated password is shown only once, and works for 7 days.

    The command sends no mail: make sure that the email belongs to the person. A person with a user in another
    account keeps their password.
    """
    account, is_known = find_account(account_id), bool(User.person(email))
    if is_known and password_stdin:
        text = f"409 CONFLICT: {email} has a password already. Leave --password-stdin out."
        raise click.ClickException(text)
    password, shown = _choose_password(email, from_stdin=password_stdin)
    try:
        user = members.create(account, email, password, Role(role), is_initial=bool(shown))
    except EmailTakenError:
        text = f"409 CONFLICT: {account_id} has a user {email} already."
        raise click.ClickException(text) from None
    except ConflictError as error:
        raise click.ClickException(f"409 CONFLICT: {error.message}") from None
    return _rendered(user, {} if is_known else shown)


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
    """Set a new password for a person and end their sessions, in all their accounts.

    A generated password is shown only once, and works for 7 days.
    """
    users = _person(email)
    password, shown = _choose_password(email, from_stdin=password_stdin)
    change_password(users[0], password, OPERATOR, is_initial=bool(shown))
    return _of_person(users, shown)


@users.command("disable-two-factor")
@email_argument
@prints()
def disable_two_factor(email: str) -> dict[str, Any]:
    """Turn off a person's two-factor authentication, in all their accounts."""
    users = _person(email)
    turn_off_two_factor(users[0], OPERATOR)
    return _of_person(users, {})


@users.command()
@email_argument
@click.option("--account", "account_id", help="Which user, if the person has several.")
@click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")
@prints()
def remove(email: str, account_id: str | None, *, yes: bool) -> dict[str, Any]:
    """Remove a user and end their sessions. Users of the person in other accounts stay."""
    users = [user for user in _person(email) if account_id in {None, user.account_id}]
    if len(users) > 1:
        accounts_ = ", ".join(str(user.account_id) for user in users)
        raise click.UsageError(f"{email} has users in {accounts_}. Choose one with --account.")
    user = found(next(iter(users), None), "user", f"{email} in {account_id}")
    if not yes:
        click.confirm(f"Remove {user.email} of {user.account_id}?", abort=True, err=True)
    members.remove(user)
    return {"id": user.id, "email": user.email, "removed": True}


def _person(email: str) -> list[User]:
    """The users of a person, at least one."""
    users = User.person(email)
    found(next(iter(users), None), "user", email)
    return users


def _of_person(users: list[User], shown: dict[str, str]) -> dict[str, Any]:
    """The result of a change of a person, which is one in each of their accounts."""
    return _rendered(users[0], shown) | {"accountIds": [user.account_id for user in users]}
