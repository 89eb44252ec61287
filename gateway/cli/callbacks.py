"""gateway callbacks."""

from collections.abc import Iterator

import click

from gateway.cli import group
from gateway.cli.database import open_state
from gateway.cli.output import json_option, rendered, show
from models.messages.callback import Reason, SetAside
from services import ingestion

callbacks = group("callbacks")

MAX_LISTED = 100
REASONS = click.Choice([str(reason) for reason in Reason])
# No column contains the text of a message.
COLUMNS = ("id", "createdAt", "reason", "phoneNumberId", "waMessageId", "error")


@callbacks.command("aside")
@click.option("--reason", type=REASONS, help="Set aside for this reason.")
@json_option
def aside_(reason: str | None, *, as_json: bool) -> None:
    """List the oldest items that could not be processed.

    foreign_number: for a number that is not connected here. unknown_message: a status of a message that
    was not sent here; it is applied if the message appears. too_old: more than eight days old when it
    arrived, so that the network cannot have sent it. failed: every attempt to process it failed.
    unreadable: not in a known format.
    """
    open_state()
    rows = [rendered(aside, *COLUMNS) for aside in SetAside.waiting(reason, limit=MAX_LISTED)]
    show(rows, "id", "createdAt", "reason", "phoneNumberId", as_json=as_json)
    if not as_json:
        counts = [f"{count} {reason}" for reason, count in SetAside.counts().items() if count]
        click.echo(f"In all: {', '.join(counts) or 'none'}.")


@callbacks.command("replay")
@click.argument("item_id", required=False)
@click.option("--reason", type=REASONS, help="All items that were set aside for this reason.")
@click.option("--all", "everything", is_flag=True, help="All.")
@json_option
def replay_(item_id: str | None, reason: str | None, *, everything: bool, as_json: bool) -> None:
    """Process items again: one by its ID, those of a reason, or all."""
    if sum([item_id is not None, reason is not None, everything]) != 1:
        raise click.UsageError("Give an ID, or --reason, or --all.")
    open_state()
    chosen = _all(reason) if item_id is None else iter([_find(item_id)])
    results = [ingestion.replay(aside) for aside in chosen]
    counts = {"replayed": results.count(True), "stillAside": results.count(False)}
    show(counts, as_json=as_json)
    if item_id is not None and not all(results):
        now = _find(item_id)
        raise click.ClickException(f"{item_id} stays aside: {now.error or now.reason}")


def _find(item_id: str) -> SetAside:
    aside = SetAside.by_id(item_id)
    if aside is None or aside.settled_at is not None:
        raise click.ClickException(f"No item {item_id} is aside. See: gateway callbacks aside")
    return aside


def _all(reason: str | None) -> Iterator[SetAside]:
    """Page by page, so that an item that stays aside is tried once."""
    last = ""
    while page := SetAside.waiting(reason, after=last):
        yield from page
        last = page[-1].id
