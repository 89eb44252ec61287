"""gateway broadcasts create: a template to the people of a file, or to a few."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import click

from gateway.cli.broadcast_content import content_with, find_template
from gateway.cli.broadcast_view import LINE, show_broadcast
from gateway.cli.messages import choose_number
from gateway.cli.options import time_option
from gateway.cli.output import cut, json_option
from gateway.cli.remote import connected
from messaging_gateway_client import Client, types
from models.clock import timestamp

HOURS = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")
UNICODE = ("utf-8", "utf-16")


def pairs_of(
    _context: click.Context, _parameter: click.Parameter, given: Sequence[str]
) -> dict[str, str]:
    """The texts before and after the first ``=`` of each value."""
    for each in given:
        if not all(each.partition("=")):
            raise click.BadParameter(f'"{each}" has no text before or after an =.')
    return {before: after for before, _, after in (each.partition("=") for each in given)}


def _columns(
    _context: click.Context, _parameter: click.Parameter, given: Sequence[str]
) -> dict[str, str]:
    """The columns by variable. The name of a column may have a ``=``."""
    for each in given:
        if not all(each.rpartition("=")):
            raise click.BadParameter(f'"{each}" is no COLUMN=VARIABLE.')
    return {variable: column for column, _, variable in (each.rpartition("=") for each in given)}


def _hours(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> types.LocalHoursInput | None:
    if value is None:
        return None
    if (match := HOURS.fullmatch(value)) is None:
        raise click.BadParameter("must be two times of day, such as 09:00-18:00.")
    return {"begin": match[1], "end": match[2]}


@dataclass(frozen=True)
class Chosen:
    """The options of the command."""

    file: Path | None
    to_column: str | None
    columns: dict[str, str]
    skip_wrong: bool
    people: tuple[str, ...]
    number_id: str | None
    template: str
    language: str | None
    fixed: dict[str, str]
    name: str | None
    start_at: int | None
    expires_at: int | None
    rate: int | None
    local_hours: types.LocalHoursInput | None
    at_limit: str | None

    def check(self) -> None:
        """Fail if options contradict each other."""
        if (self.file is None) == (not self.people):
            raise click.UsageError("Give --file, or --to for each recipient.")
        if self.file is None and (self.columns or self.to_column or self.skip_wrong):
            raise click.UsageError("--column, --to-column and --skip-wrong need --file.")

    def content(self, client: Client, number_id: str) -> dict[str, Any]:
        """The template with its parameters. Fails for one that is unknown or missing."""
        found = find_template(client, number_id, self.template, self.language)
        has_columns = self.file is not None
        return content_with(found, self.columns, self.fixed, has_columns=has_columns)

    def recipients(self, client: Client) -> dict[str, Any]:
        """The member of the request with the recipients. Uploads the file."""
        if self.file is None:
            return {"recipients": [{"to": to} for to in self.people]}
        stored = _upload(client, self.file, self.to_column, skip_wrong=self.skip_wrong)
        return {"recipientsFile": stored["id"], "skipWrongRows": self.skip_wrong}

    def limits(self) -> dict[str, Any]:
        """The members of the request about times and pace."""
        given = {
            "startAt": None if self.start_at is None else timestamp(self.start_at),
            "expiresAt": None if self.expires_at is None else timestamp(self.expires_at),
            "ratePerSecond": self.rate,
            "localHours": self.local_hours,
            "atMessagingLimit": self.at_limit,
        }
        return {name: value for name, value in given.items() if value is not None}


@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="CSV or NDJSON with the recipients.",
)
@click.option(
    "--to-column", help="Its column with the recipients; default: to, phone or a similar name."
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=_columns,
    metavar="COLUMN=VARIABLE",
    help="A variable from a column, such as name=1, title=header-1, code=button-0.",
)
@click.option("--skip-wrong", is_flag=True, help="Leave out wrong rows of the file.")
@click.option(
    "--to", "people", multiple=True, help="A recipient without a file; up to 1,000 times."
)
@click.option("--number", "number_id", help="Sender; default: the only active number.")
@click.option("--template", required=True, help="Name of an approved template.")
@click.option("--language", help="Its language, such as en_US; default: its only one.")
@click.option(
    "--fixed",
    multiple=True,
    callback=pairs_of,
    metavar="VARIABLE=TEXT",
    help="A variable with the same text for all, such as 2=Friday; header-file=LINK.",
)
@click.option("--name", help="Your own name for it; default: the template's.")
@time_option("--start-at", help="When it starts.")
@time_option("--expires-at", help="When it ends; who waits then gets no message.")
@click.option("--rate", type=click.IntRange(1, 1000), help="The most messages a second.")
@click.option(
    "--local-hours",
    callback=_hours,
    metavar="HOURS",
    help="Hours of the recipient's day, such as 09:00-18:00.",
)
@click.option(
    "--at-limit",
    type=click.Choice(get_args(types.AtMessagingLimit)),
    help="Beyond the number's limit of people in 24 hours; default: wait.",
)
@click.option("--start", "is_started", is_flag=True, help="Start it, too.")
@json_option
def create_broadcast(*, as_json: bool, is_started: bool, **given: Any) -> None:
    """Create a broadcast of a template, as a draft.

    A named variable is the column of its name, unless --column or --fixed has it.
    """
    chosen = Chosen(**given)
    chosen.check()
    with connected() as client:
        number = choose_number(client, chosen.number_id)
        content = chosen.content(client, number["id"])
        body: Any = {"name": chosen.name or chosen.template, "numberId": number["id"]}
        body |= {"type": "template", "template": content, **chosen.limits()}
        made = client.create_broadcast(body | chosen.recipients(client))
        if is_started:
            made = client.start_broadcast(made["id"])
    show_broadcast(made, as_json=as_json)


def _upload(
    client: Client, file: Path, to_column: str | None, *, skip_wrong: bool
) -> types.RecipientsFile:
    """Upload a file, and print what is left out. Fails for a wrong row, unless it is skipped."""
    stored = client.upload_recipients(file, to_column=to_column)
    wrong, errors = stored["wrong"], stored["errors"]
    if wrong and not skip_wrong:
        raise click.ClickException(
            f"{file.name} has {wrong:,} wrong rows. {_text_of(errors[0])} Correct them, or leave them out"
            " with --skip-wrong."
        )
    for each in errors:
        click.echo(cut(f"Left out: {_text_of(each)}", LINE), err=True)
    if wrong > len(errors):
        click.echo(f"Left out: {wrong - len(errors):,} more wrong rows.", err=True)
    if stored["duplicates"]:
        click.echo(f"Left out: {stored['duplicates']:,} rows of people named before.", err=True)
    if stored["encoding"] not in UNICODE:
        click.echo(f"Read as {stored['encoding']}. Check letters with accents.", err=True)
    return stored


def _text_of(error: types.RecipientsFileError) -> str:
    """What is wrong with a row, and where."""
    column = "" if error["column"] is None else f", {error['column']}"
    corrected = "" if error["corrected"] is None else f" It means {error['corrected']}."
    return f"Line {error['line']}{column}: {error['message']}{corrected}"
