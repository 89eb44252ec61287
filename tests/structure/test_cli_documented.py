"""docs/cli.md names every command."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from gateway.cli import cli

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
# A row may name several commands of a group: | `gateway keys create`, `list`, `revoke` |
ROW = re.compile(r"^\| `gateway ([a-z -]+)`((?:, `[a-z-]+`)*) \|", re.MULTILINE)


def commands_of(group: click.Group, *path: str) -> Iterator[str]:
    """The names of all commands, without those of groups."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands_of(command, *path, name)
        else:
            yield " ".join([*path, name])


def _documented() -> Iterator[str]:
    for first, others in ROW.findall(PAGE.read_text()):
        yield first
        group = first.rpartition(" ")[0]
        yield from (f"{group} {name}" for name in re.findall("[a-z-]+", others))


def test_every_command_is_documented_once_and_no_other() -> None:
    assert sorted(_documented()) == sorted(commands_of(cli))
