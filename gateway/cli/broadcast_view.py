"""Shows a broadcast, and its progress, in a terminal."""

import sys
import time
from typing import Any

import click

from gateway.cli.output import cut, show
from messaging_gateway_client import Client, types

# Seconds between two requests for the progress, which count against the account's limit of requests.
POLL_SECONDS = 2.0
BAR_WIDTH = 30
# Characters of a line, and of a name in it.
LINE, MOST_OF_NAME = 78, 60
SHOWN = (
    *("id", "name", "status", "numberId", "pace"),
    *("createdAt", "startAt", "startedAt", "estimatedEndAt", "endedAt", "expiresAt"),
)
MOVING = ("scheduled", "running")


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
