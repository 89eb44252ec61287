"""Measures how lists, a send, a callback, a claim and retention slow down as the database grows.

``make bench ARGS=growth`` runs it. BENCH_SIZES=1000,10000,100000,1000000 sets the numbers of messages in
the databases, BENCH_GROWTH_BACKENDS=SQLite,PostgreSQL their backends. Each run fills them: the largest takes
some minutes and 5 GB of the temporary folder.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.growth_operations import Operation, accepting_network, changes, lists, removals
from benchmarks.populate import Owner, populate
from benchmarks.report import Figure, Goal, Table
from benchmarks.turns import more_rounds
from contract_tests.servers import PostgresServer
from gateway.settings import get_settings
from models import database
from models.accounts import secret

SIZES = [
    int(size) for size in os.environ.get("BENCH_SIZES", "1000,10000,100000,1000000").split(",")
]
BACKENDS = os.environ.get("BENCH_GROWTH_BACKENDS", "SQLite,PostgreSQL").split(",")
REPEATS, WARM_UPS = 7, 3
MAX_GROWTH = 1.5
# The removed rows are spread over some indexes, and the smallest database is entirely in the cache.
MAX_GROWTH_OF_REMOVALS = 3
METHOD = (
    "Databases with this many messages, 3.4 times as many history steps, and 2.5 times as many"
    " events and deliveries. One account has 5 of 8. The product's functions below HTTP run with a network"
    " that responds at once, on all databases in turns. Rounds are seconds apart. A round's"
    f" figure is the median of {REPEATS} runs, which take milliseconds."
)


@dataclass
class Stock:
    """A filled database, and the time of each operation on it in each round, in ms."""

    size: int
    url: str
    operations: dict[str, Operation]
    rounds: dict[str, list[float]] = field(default_factory=dict)

    def take_turn(self, name: str) -> None:
        """Run an operation several times."""
        database.connect(self.url)
        operation = self.operations[name]
        for _ in range(WARM_UPS):
            operation()
        typical = median(operation() for _ in range(REPEATS))
        self.rounds.setdefault(name, []).append(typical)


@contextmanager
def empty_databases(backend: str, sizes: list[int]) -> Iterator[list[str]]:
    """The URL of an empty database for each size."""
    if backend == "PostgreSQL":
        with PostgresServer() as server:
            yield [server.database(f"growth_{size}") for size in sizes]
        return
    with tempfile.TemporaryDirectory() as folder:
        yield [f"sqlite://{Path(folder, f'{size}.db')}" for size in sizes]


def _fill(size: int, url: str) -> Stock:
    database.connect(url)
    database.migrate()
    return stock_of(size, url, populate(size)[0])


def stock_of(size: int, url: str, owner: Owner) -> Stock:
    """A filled database. The models must be connected to it."""
    return Stock(size, url, {**lists(owner), **changes(owner), **removals()})


def run(rounds: int) -> Iterator[Table]:
    """Fill the databases of each backend, and time every operation on all of them in turns."""
    secret.use_keys(*get_settings().encryption_keys())
    for backend in BACKENDS:
        with empty_databases(backend, SIZES) as urls, accepting_network():
            stocks = [_fill(*each) for each in zip(SIZES, urls, strict=True)]
            table = measure(backend, stocks, rounds)
        yield table


def measure(backend: str, stocks: list[Stock], rounds: int) -> Table:
    """The time of every operation at every size, and its growth."""
    table = Table(f"Growth with the number of messages, on {backend}", METHOD)
    # Rounds are the outer loop, so that a machine that is busy for a second slows only one round.
    for _ in range(more_rounds(rounds)):
        for name in stocks[0].operations:
            for stock in stocks:
                stock.take_turn(name)
    for name in stocks[0].operations:
        figures = [
            Figure(f"{name}, {stock.size:.0e}", "ms", tuple(stock.rounds[name])) for stock in stocks
        ]
        table.figures += figures
        growth = figures[-1].value / figures[0].value
        bound = MAX_GROWTH_OF_REMOVALS if name.startswith("remove") else MAX_GROWTH
        table.goals.append(Goal(f"{name}, last / first", growth, bound, at_most=True))
    return table
