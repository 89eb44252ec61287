"""Measures how long the dashboard takes to render its overview, for each range.

``make bench-overview`` runs it.

Fills a database with 1,000,000 messages of 40 days, 5 of 8 in one account, and renders that account's page
in this process: the cost of HTTP does not depend on the database. BENCH_MESSAGES=1000000 and
BENCH_GROWTH_BACKENDS=SQLite,PostgreSQL change that. Exits with 1 if a median is above 200 ms.
"""

import os
import sys
from collections.abc import Iterator
from http import HTTPStatus
from statistics import median

from flask import Flask

from benchmarks import growth
from benchmarks.growth_operations import Operation, timed
from benchmarks.populate import Owner, populate
from benchmarks.report import Figure, Goal, Table, show
from dashboard import guard
from dashboard.overview import EXTENSION
from dashboard.urls import blueprint
from gateway.settings import get_settings
from models import database
from models.accounts import secret
from models.accounts.user_session import UserSession
from models.reports.activity import SPANS
from services import members

MESSAGES = int(os.environ.get("BENCH_MESSAGES", "1000000"))
ROUNDS, REPEATS, MOST_MS = 5, 5, 200
METHOD = (
    f"{MESSAGES:,} messages of 40 days and 2.5 times as many deliveries. The page below HTTP, all ranges in"
    f" turns; the figure of a round is the median of {REPEATS} pages."
)


def pages(owner: Owner) -> dict[str, Operation]:
    """Render the overview once, by range."""
    app = Flask("overview")
    app.register_blueprint(blueprint)
    app.extensions[EXTENSION] = lambda _account: (500, 500, 0)
    browser = app.test_client()
    token = UserSession.begin(
        members.create(owner.account, "bench@example.com", "correct horse battery")
    )
    app.extensions[guard.EXTENSION] = lambda _environ: UserSession.resume(token)
    browser.set_cookie("gateway_session", token)

    def show(name: str) -> None:
        answer = browser.get(f"/dashboard/?range={name}")
        if answer.status_code != HTTPStatus.OK:
            raise RuntimeError(f"the overview responded with {answer.status}")

    return {name: lambda name=name: timed(lambda: show(name)) for name in SPANS}  # type: ignore[misc]


def measure(backend: str, url: str) -> Table:
    """Fill the database and time its pages."""
    database.connect(url)
    database.migrate()
    operations = pages(populate(MESSAGES)[0])
    rounds: dict[str, list[float]] = {name: [] for name in operations}
    for _ in range(ROUNDS):
        for name, operation in operations.items():
            rounds[name].append(median(operation() for _ in range(REPEATS)))
    table = Table(f"The overview, on {backend}", METHOD)
    table.figures = [Figure(f"last {name}", "ms", tuple(took)) for name, took in rounds.items()]
    slowest = max(figure.value for figure in table.figures)
    table.goals.append(Goal("slowest range, ms", slowest, MOST_MS, at_most=True))
    return table


def tables() -> Iterator[Table]:
    """One for each backend."""
    secret.use_keys(*get_settings().encryption_keys())
    for backend in growth.BACKENDS:
        with growth.empty_databases(backend, [MESSAGES]) as [url]:
            yield measure(backend, url)


if __name__ == "__main__":
    sys.exit(show(tables()))
