"""Several commands of ``gateway`` in one process: ``python -m contract_tests.commands '[["keys", "list"]]'``.

Each prints one line of JSON. That a command works in a process of its own is for tests of the command line.
"""

import contextlib
import io
import json
import sys

from gateway.cli import cli

# Stands for the identifier of what the first command made.
FIRST_ID = "FIRST_ID"


def main(commands: list[list[str]]) -> None:
    """Run them one after another; the first that fails ends all, as it would alone."""
    first = FIRST_ID
    for command in commands:
        arguments = [first if word == FIRST_ID else word for word in command]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            cli.main([*arguments, "--json"], standalone_mode=False)
        sys.stdout.write(printed.getvalue())
        if first == FIRST_ID:
            first = json.loads(printed.getvalue())["id"]


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
