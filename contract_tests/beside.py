"""A load in a separate process, so that it shares no Python lock with the test that measures."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from contract_tests.harness import ROOT, WAIT_SECONDS

# What the process prints when the load has begun.
BEGUN = "begun\n"


@contextmanager
def running_beside(module: str, *given: Any) -> Iterator[dict[str, int]]:
    """Run a module while the block runs, from the moment when its load has begun.

    The module gets a list as JSON, ends with its standard input, and prints statuses as JSON, which are
    counted at the end.
    """
    statuses: dict[str, int] = {}
    with subprocess.Popen(
        [sys.executable, "-m", module, json.dumps(given)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == BEGUN
            yield statuses
            said, _ = process.communicate(timeout=WAIT_SECONDS)
            statuses.update(json.loads(said))
        finally:
            process.kill()
