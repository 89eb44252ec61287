"""gateway suppressions: the people who get no marketing from an account."""

from pathlib import Path
from typing import Any, BinaryIO

import click

from gateway.cli import group
from gateway.cli.accounts import find_account
from gateway.cli.output import found, prints
from models.errors import DomainError
from models.messages.suppression import Suppression
from resources.suppression import suppression_object
from services import consent, suppression_lists
from services.business import PERSON

suppressions = group("suppressions")

MOST_LISTED = 1_000


def _check_person(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> str | None:
    if value is not None and not PERSON.fullmatch(value):
        raise click.BadParameter("is neither a phone number (digits only) nor a user id.")
    return value


def _plain_reason(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> str | None:
    plain = " ".join((value or "").split())
    if len(plain) > suppression_lists.MOST_REASON:
        raise click.BadParameter(f"has more than {suppression_lists.MOST_REASON} characters.")
    return plain or None


@suppressions.command("list")
@click.argument("account_id")
@click.option("--person", callback=_check_person, help="Only this phone number or user id.")
@prints("id", "createdAt", "person")
def list_suppressions(account_id: str, person: str | None) -> list[dict[str, Any]]:
    """List the newest 1,000 suppressions of an account. The export has all of them."""
    account = find_account(account_id)
    page = Suppression.search(account, MOST_LISTED, 0, person, None)
    return [suppression_object(row, account) for row in page.rows]


@suppressions.command()
@click.argument("account_id")
@click.argument("person", callback=_check_person)
@click.option("--number", "number_id", help="Only for this number of the account.")
@click.option("--reason", callback=_plain_reason, help="How the person asked.")
@prints()
def add(account_id: str, person: str, number_id: str | None, reason: str | None) -> dict[str, Any]:
    """Suppress a person, by a phone number or user id."""
    account = find_account(account_id)
    try:
        row, _ = consent.suppress(account.id, person, number_id, reason)
    except DomainError as error:
        raise click.ClickException(error.message) from None
    return suppression_object(row, account)


@suppressions.command()
@click.argument("suppression_id")
@prints()
def remove(suppression_id: str) -> dict[str, Any]:
    """End a suppression: opt the person in again."""
    row = found(Suppression.by_id(suppression_id), "suppression", suppression_id)
    consent.end(row.account_id, row.id)
    return {"id": row.id, "removed": True}


@suppressions.command("import")
@click.argument("account_id")
@click.argument("file", type=click.File("rb"))
@prints()
def import_(account_id: str, file: BinaryIO) -> dict[str, Any]:
    """Suppress the people of a CSV file.

    Its first line names the columns: person, and optionally numberId, reason and time (ISO 8601).
    """
    account = find_account(account_id)
    if not file.seekable():
        raise click.UsageError("The file is read twice, so it cannot be a pipe. Save it first.")
    try:
        return {"id": account.id, **suppression_lists.load(account.id, file)._asdict()}
    except DomainError as error:
        raise click.ClickException(error.message) from None


@suppressions.command()
@click.argument("account_id")
@click.argument("file", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@prints()
def export(account_id: str, file: Path) -> dict[str, Any]:
    """Write the suppressions of an account into a CSV file."""
    account = find_account(account_id)
    with file.open("wb") as written:
        written.writelines(suppression_lists.dump(account.id))
    return {"id": account.id, "file": str(file)}
