"""gateway secrets: rotating the keys that encrypt tokens and secrets in the database."""

import sys

import click

from gateway.cli import group
from gateway.cli.database import open_state
from gateway.cli.output import json_option, show
from models.accounts import rotation

secrets = group("secrets")

BAR_WIDTH = 30
# The first pass rotates. The second one finds what changed meanwhile, the third nothing.
PASSES = 4


@secrets.command()
@json_option
def rotate(*, as_json: bool) -> None:
    """Encrypt all stored secrets with the first key of GATEWAY_SECRET_KEY.

    First restart all processes with GATEWAY_SECRET_KEY=NEW,OLD. The service may keep running. If this
    is interrupted, run it again. At the end it names the keys that are no longer used.
    """
    keys = len(open_state().encryption_keys())
    rotated, found = 0, _rotate(is_hidden=as_json)
    for _ in range(PASSES):
        if not (older := found.total() - found[0] - found[None]):
            break
        rotated += older
        found = _rotate(is_hidden=True)
    else:
        raise click.ClickException(
            "A process still encrypts with an old key. Restart all processes with the new key first, "
            "GATEWAY_SECRET_KEY=NEW,OLD, and run this again."
        )
    unused = list(range(2, keys + 1))
    total, unreadable = found.total(), found[None]
    if as_json:
        counts = {"secrets": total, "rotated": rotated, "unreadable": unreadable}
        show({**counts, "unusedKeys": unused}, as_json=True)
    else:
        click.echo(f"Rotated {rotated} of {total} secrets.")
        _name_unused(unused)
    if unreadable:
        raise click.ClickException(
            f"{unreadable} of {total} secrets fit no key of GATEWAY_SECRET_KEY. Add the key that encrypted "
            "them at its end, and run this again."
        )


def _rotate(*, is_hidden: bool) -> rotation.Keys:
    """Run one pass over all secrets. Returns the keys that they had before."""
    found = rotation.Keys()
    with click.progressbar(
        length=rotation.count(),
        label="Rotating",
        show_pos=True,
        width=BAR_WIDTH,
        file=sys.stderr,
        hidden=is_hidden,
    ) as bar:
        for part in rotation.rotate():
            found += part
            bar.update(part.total())
    return found


def _name_unused(keys: list[int]) -> None:
    if not keys:
        click.echo("GATEWAY_SECRET_KEY has no old key.")
        return
    s = "s" if len(keys) > 1 else ""
    click.echo(f"No longer used: key{s} {', '.join(map(str, keys))} of GATEWAY_SECRET_KEY.")
    click.echo(f"The old key{s} can be removed. Then restart all processes.")
