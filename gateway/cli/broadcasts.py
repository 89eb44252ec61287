"""gateway broadcasts: one template to many people, over the API."""

import re
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, get_args

import click

from gateway.cli import group
from gateway.cli.broadcast_content import content_with, find_template
from gateway.cli.messages import MAX_LISTED, choose_number
from gateway.cli.options import time_option
from gateway.cli.output import cut, json_option, show
from gateway.cli.remote import asks, connected
from messaging_gateway_client import Client, types
from models.clock import timestamp

broadcasts = group("broadcasts")

HOURS = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")
# Seconds between two requests of ``watch``, which count against the account's limit of requests.
POLL_SECONDS = 2.0
BAR_WIDTH = 30
# Characters of a line, and of a name in it.
LINE, MOST_OF_NAME = 78, 60
SHOWN = (
    *("id", "name", "status", "numberId", "pace"),
    *("createdAt", "startAt", "startedAt", "estimatedEndAt", "endedAt", "expiresAt"),
)
MOVING = ("scheduled", "running")
# What each action does, and its method.
ACTIONS: dict[str, tuple[str, Callable[[Client, str], types.Broadcast]]] = {
    "start": ("Start a draft, now or at its time.", Client.start_broadcast),
    "pause": ("Pause one that runs or is scheduled.", Client.pause_broadcast),
    "resume": ("Continue a paused one.", Client.resume_broadcast),
}


def _pairs(
    _context: click.Context, _parameter: click.Parameter, given: Sequence[str]
) -> dict[str, str]:
    """The texts before and after the first ``=`` of each value."""
    for each in given:
        if not all(each.partition("=")):
            raise click.BadParameter(f'"{each}" has no text before or after an =.')
    return {before: after for before, _, after in (each.partition("=") for each in given)}


def _hours(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> types.LocalHoursInput | None:
    if value is None:
        return None
    if (match := HOURS.fullmatch(value)) is None:
        raise click.BadParameter("must be two times of day, such as 09:00-18:00.")
    return {"begin": match[1], "end": match[2]}


def show_broadcast(broadcast: types.Broadcast, *, as_json: bool) -> None:
    """Print a broadcast: one document, or for people its values, its counts and the reason of a pause."""
    if as_json:
        show(dict(broadcast), as_json=True)
        return
    values: dict[str, Any] = {**broadcast, "name": cut(broadcast["name"], MOST_OF_NAME)}
    known = [name for name in SHOWN if values[name] is not None]
    show(values, *known, as_json=False)
    if (reason := broadcast["reason"]) is not None:
        click.echo(f"\n{click.wrap_text(reason['message'], LINE)}")
    counts: dict[str, Any] = dict(broadcast["counts"])
    why = {f"skipped: {each['reason']}": each["count"] for each in broadcast["skipped"]}
    rows = [
        {"recipients": name, "count": f"{count:,}"}
        for name, count in (counts | why).items()
        if count
    ]
    click.echo()
    show(rows, "recipients", "count", as_json=False)


@broadcasts.command("create")
@click.option(
    "--to", "people", multiple=True, required=True, help="A recipient; up to 1,000 times."
)
@click.option("--number", "number_id", help="Sender; default: the only active number.")
@click.option("--template", required=True, help="Name of an approved template.")
@click.option("--language", help="Its language, such as en_US; default: its only one.")
@click.option(
    "--fixed",
    multiple=True,
    callback=_pairs,
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
def create_broadcast(
    *,
    as_json: bool,
    people: tuple[str, ...],
    number_id: str | None,
    template: str,
    language: str | None,
    fixed: dict[str, str],
    name: str | None,
    is_started: bool,
    **given: Any,
) -> None:
    """Create a broadcast of a template, as a draft."""
    with connected() as client:
        number = choose_number(client, number_id)
        found = find_template(client, number["id"], template, language)
        content = content_with(found, {}, fixed, has_columns=False)
        body: Any = {"name": name or template, "numberId": number["id"], "type": "template"}
        body |= {"template": content, "recipients": [{"to": to} for to in people]}
        body |= _options(**given)
        made = client.create_broadcast(body, idempotency_key=str(uuid.uuid4()))
        if is_started:
            made = client.start_broadcast(made["id"])
    show_broadcast(made, as_json=as_json)


def _options(
    *,
    start_at: int | None,
    expires_at: int | None,
    rate: int | None,
    local_hours: types.LocalHoursInput | None,
    at_limit: str | None,
) -> dict[str, Any]:
    """The members of the request for these options."""
    given = {
        "startAt": None if start_at is None else timestamp(start_at),
        "expiresAt": None if expires_at is None else timestamp(expires_at),
        "ratePerSecond": rate,
        "localHours": local_hours,
        "atMessagingLimit": at_limit,
    }
    return {name: value for name, value in given.items() if value is not None}


@broadcasts.command("list")
@click.option("--number", "number_id", help="Of this number.")
@click.option(
    "--status",
    type=click.Choice(get_args(types.BroadcastStatus)),
    metavar="STATUS",
    help="With this status, such as running.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_LISTED),
    default=20,
    help="The most broadcasts to list; default: 20.",
)
@asks("id", "status", "recipients", "name")
def list_broadcasts(client: Client, **filters: Any) -> list[dict[str, Any]]:
    """List the newest broadcasts."""
    found = client.list_broadcasts(**filters)["data"]
    return [each | {"recipients": each["counts"]["total"]} for each in found]


@broadcasts.command("show")
@click.argument("broadcast_id")
@json_option
def show_one(broadcast_id: str, *, as_json: bool) -> None:
    """Show a broadcast with its counts."""
    with connected() as client:
        found = client.get_broadcast(broadcast_id)
    show_broadcast(found, as_json=as_json)


def _add_action(name: str, line: str, act: Callable[[Client, str], types.Broadcast]) -> None:
    @broadcasts.command(name, help=line)
    @click.argument("broadcast_id")
    @json_option
    def run(broadcast_id: str, *, as_json: bool) -> None:
        with connected() as client:
            moved = act(client, broadcast_id)
        show_broadcast(moved, as_json=as_json)


for _name, (_line, _act) in ACTIONS.items():
    _add_action(_name, _line, _act)


@broadcasts.command("cancel")
@click.argument("broadcast_id")
@click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")
@json_option
def cancel_broadcast(broadcast_id: str, *, yes: bool, as_json: bool) -> None:
    """End a broadcast for good. Who waits gets no message."""
    with connected() as client:
        if not yes:
            waiting = client.get_broadcast(broadcast_id)["counts"]["waiting"]
            question = f"{waiting:,} people then get no message. Cancel {broadcast_id}?"
            click.confirm(question, abort=True, err=True)
        cancelled = client.cancel_broadcast(broadcast_id)
    show_broadcast(cancelled, as_json=as_json)


@broadcasts.command("test")
@click.argument("broadcast_id")
@click.option("--to", required=True, help="Phone number (digits) or user id.")
@click.option(
    "--parameter",
    "parameters",
    multiple=True,
    callback=_pairs,
    metavar="NAME=TEXT",
    help="Text of a placeholder; default: all those of the first recipient.",
)
@asks()
def test_broadcast(
    client: Client, broadcast_id: str, to: str, parameters: dict[str, str]
) -> dict[str, Any]:
    """Send the content of a broadcast to one person."""
    body: types.TestBroadcastRequest = {"to": to}
    if parameters:
        body["parameters"] = parameters
    return dict(client.test_broadcast(broadcast_id, body))


@broadcasts.command("recipients")
@click.argument("broadcast_id")
@click.option(
    "--status",
    type=click.Choice(get_args(types.BroadcastRecipientStatus)),
    metavar="STATUS",
    help="With this status, such as failed or skipped.",
)
@click.option("--limit", type=click.IntRange(1), default=20, help="The most to list; default: 20.")
@asks("to", "status", "messageId", "why")
def list_recipients(
    client: Client, broadcast_id: str, status: types.BroadcastRecipientStatus | None, limit: int
) -> list[dict[str, Any]]:
    """List the recipients with their messages, or why they have none."""
    page = min(limit, MAX_LISTED)
    rows = client.iterate_broadcast_recipients(broadcast_id, status=status, limit=page)
    return [each | {"why": _why(each)} for each in islice(rows, limit)]


def _why(recipient: types.BroadcastRecipient) -> str:
    """Why a message failed or was not sent, in one line."""
    if (error := recipient["error"]) is not None:
        return str(error["message"])
    return recipient["detail"] or recipient["skipReason"] or ""


@broadcasts.command("watch")
@click.argument("broadcast_id")
@json_option
def watch_broadcast(broadcast_id: str, *, as_json: bool) -> None:
    """Show the progress of a broadcast until it ends or pauses.

    Ctrl-C ends only this display: the broadcast continues.
    """
    with connected() as client:
        found = client.get_broadcast(broadcast_id)
        if found["status"] == "draft":
            start = f"gateway broadcasts start {broadcast_id}"
            raise click.ClickException(f"It is a draft. Run: {start}")
        found = follow(client, found)
    show_broadcast(found, as_json=as_json)


def follow(client: Client, broadcast: types.Broadcast) -> types.Broadcast:
    """Show on stderr how many recipients no longer wait. Returns the broadcast at its end, or at Ctrl-C."""
    try:
        with click.progressbar(
            length=broadcast["counts"]["total"],
            label=broadcast["status"].capitalize(),
            show_pos=True,
            width=BAR_WIDTH,
            file=sys.stderr,
        ) as bar:
            while True:
                counts = broadcast["counts"]
                bar.label = broadcast["status"].capitalize()
                # Not update(), which shows neither another label nor a smaller count.
                bar.make_step(counts["total"] - counts["waiting"] - bar.pos)
                bar.render_progress()
                if not _continues(broadcast):
                    return broadcast
                time.sleep(POLL_SECONDS)
                broadcast = client.get_broadcast(broadcast["id"])
    except KeyboardInterrupt:
        click.echo("Not watching any more; the broadcast continues.", err=True)
    return broadcast


def _continues(broadcast: types.Broadcast) -> bool:
    """Whether it continues by itself."""
    reason = broadcast["reason"]
    return broadcast["status"] in MOVING or (reason is not None and reason["resumeAt"] is not None)
