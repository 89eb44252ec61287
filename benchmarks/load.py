"""Puts load on an HTTP server from a separate process (benchmarks.generator), and returns the result.

The same generator asks every contender, so what it costs itself is the same for all of them.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
# A placeholder in head and body for 15 digits unique to each request: a recipient, an identifier.
FRESH = "100000000000000"
# Seconds. A server that stops responding ends the benchmark.
PATIENCE_SECONDS = 60


class LoadError(Exception):
    """The generator gave up: an answer was wrong, or none came. The text says which."""


@dataclass(frozen=True)
class Load:
    """POSTs of one body over kept connections, for ``seconds`` after ``warm_up`` seconds.

    Without a ``rate`` each connection asks again as soon as it has its answer (a closed loop). With one,
    requests are due at that many a second, evenly spaced, independent of the server (an open loop), and
    their latency counts from the moment they were due.
    """

    url: str
    headers: Mapping[str, str]
    body: str
    connections: int = 16
    seconds: float = 5
    warm_up: float = 1
    rate: float = 0
    # Signs the body as the messaging network does.
    app_secret: str = ""
    # The server's process, whose time on a processor is to be taken.
    pid: int = 0


@dataclass(frozen=True)
class Answers:
    """How many answers came in the counted time, how many a second that is, and how fast, in ms.

    ``cpu`` is the server's time on a processor for each answer, in ms, where its process was named. It
    tells more than the rate on a machine that others use as well.
    """

    count: int
    rate: float
    p50: float
    p99: float
    cpu: float


def drive(load: Load) -> Answers:
    """Put the load on. Raises LoadError unless every single answer was a 200."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.generator"],
        input=json.dumps(asdict(load)),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=load.warm_up + load.seconds + 2 * PATIENCE_SECONDS,
        check=False,
    )
    if done.returncode:
        raise LoadError(done.stderr.strip())
    return Answers(**json.loads(done.stdout))
