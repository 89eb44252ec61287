"""A progress bar for a redelivery, on stderr so that stdout holds the result alone."""

import sys
import time

import click

from models.redelivery import RedeliveryCall

POLL_SECONDS = 0.2
WIDTH = 30


def follow(call: RedeliveryCall) -> None:
    """Show how many of the call's deliveries have had their attempt, until all have, or Ctrl-C."""
    waiting = call.delivery_ids
    try:
        with click.progressbar(
            length=call.count, label="Delivering", show_pos=True, width=WIDTH, file=sys.stderr
        ) as bar:
            while still := call.waiting(waiting):
                bar.update(len(waiting) - len(still))
                waiting = still
                time.sleep(POLL_SECONDS)
            bar.update(len(waiting))
    except KeyboardInterrupt:
        click.echo(f"Not watching any more; {len(waiting)} go on in the worker.", err=True)
