"""Generates load for an HTTP server in a separate process, benchmarks.generator, and returns the result.

All contenders get the same generator, so its own cost is the same for all.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
# A placeholder in head and body for 15 digits that are unique to each request, such as a recipient.
FRESH = "100000000000000"
# Seconds after which a server that stopped responding ends the benchmark.
PATIENCE_SECONDS = 60


class LoadError(Exception):
    """The generator gave up: a response was wrong or missing. The text says which."""


@dataclass(frozen=True)
class Load:
    """POSTs of one body over kept connections, for ``seconds`` after ``warm_up`` seconds.

    Without a ``rate``, each connection sends its next request when it has the response (a closed loop). With
    a ``rate`` a second, requests are evenly spaced and independent of the server (an open loop), and their
    latency counts from the time when they were due. Requests have ``body`` and ``more_bodies`` in turns.
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
    # The server's process, whose CPU time is measured.
    pid: int = 0
    more_bodies: Sequence[str] = ()


@dataclass(frozen=True)
class Answers:
    """The number of responses in the counted time, their rate a second, and their latency in ms.

    ``cpu`` is the server's CPU time for each response in ms, if the load names its process. On a shared
    machine it is more reliable than the rate. ``starts`` are the digits that replaced FRESH in each
    request, and when it was due in Unix seconds.
    """

    count: int
    rate: float
    p50: float
    p99: float
    cpu: float
    starts: Sequence[tuple[str, float]] = ()


def load_of_sends(url: str, number_id: str, key: str) -> Load:
    """Sends of a short text, each to another person and with another Idempotency-Key."""
    body = {
        "number_id": number_id,
        "to": FRESH,
        "type": "text",
        "text": {"body": "Your order was shipped."},
    }
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Idempotency-Key": f"order-{FRESH}",
    }
    return Load(url, headers, json.dumps(body))


def drive(load: Load) -> Answers:
    """Generate the load. Raises LoadError unless every response is a 200."""
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
