"""gateway broadcasts: one template to many people, over the API."""

from collections.abc import Callable
from itertools import islice
from typing import Any, get_args

import click

from gateway.cli import group
from gateway.cli.broadcast_creation import create_broadcast, pairs_of
from gateway.cli.broadcast_view import follow, show_broadcast
from gateway.cli.messages import MAX_LISTED
from gateway.cli.output import json_option
from gateway.cli.remote import asks, connected
from messaging_gateway_client import Client, types

broadcasts = group("broadcasts")

# What each action does, and its method.
ACTIONS: dict[str, tuple[str, Callable[[Client, str], types.Broadcast]]] = {
    "start": ("Start a draft, now or at its time.", Client.start_broadcast),
    "pause": ("Pause one that runs or is scheduled.", Client.pause_broadcast),
    "resume": ("Continue a paused one.", Client.resume_broadcast),
}

broadcasts.command("create")(create_broadcast)


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
    callback=pairs_of,
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
    """List the recipients and their outcomes."""
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
