"""PostgreSQL ends all sessions again and again: no request fails, and no message is sent twice."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import psycopg
import pytest
import requests

from contract_tests.chaos.failovers import TERMINATE
from contract_tests.harness import Customer
from contract_tests.parts import Parts, deployed
from contract_tests.servers import PgBouncer, PostgresServer
from gateway.http.exception_handlers import UNSURE_MESSAGE

NAME = "ended"
CLIENTS, ROUNDS = 4, 14
# All sessions end after each of so many responses: 20 times in all.
EVERY = 14


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["direct", "pooled"])
def parts(
    request: pytest.FixtureRequest, postgres: PostgresServer, tmp_path: Path
) -> Iterator[Parts]:
    """Web and sandbox on the server, or on a PgBouncer in front of it."""
    with ExitStack() as stack:
        url = postgres.database(NAME)
        if request.param == "pooled":
            url = stack.enter_context(PgBouncer(postgres)).url(NAME)
        named = {"GATEWAY_DATABASE_URL": url, "GATEWAY_QUEUE_URL": "", "GATEWAY_RATE_LIMIT_URL": ""}
        yield stack.enter_context(deployed(tmp_path, **named))
        stack.callback(_drop, postgres)


def _drop(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {NAME} WITH (FORCE)")


class _Client:
    """Sends messages, reads, and changes a webhook of its own."""

    def __init__(self, customer: Customer, number: int) -> None:
        self._customer = customer
        self._number = number
        hook = {"url": "http://127.0.0.1:9/", "events": ["message.sent"]}
        self._hook = customer.request("POST", "/webhooks", json=hook).json()["id"]

    def requests(self, number: int) -> Iterator[Callable[[], requests.Response]]:
        """One round of requests. Each is made when it is called."""
        to, ask = f"1558{self._number:02}{number:05}", self._customer.request
        path = f"/webhooks/{self._hook}"
        yield partial(self._customer.send, to, key=f"key-{to}")
        yield partial(ask, "GET", "/messages")
        yield partial(ask, "GET", "/events")
        yield partial(ask, "PATCH", path, json={"url": f"http://127.0.0.1:9/{number}"})
        yield partial(ask, "POST", f"{path}/rotate-secret")


class _Ender:
    """Ends all sessions after each ``EVERY`` responses, while the requests of other clients run."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._count = itertools.count(1)
        self.ended = 0

    def note_response(self) -> None:
        """Count a response."""
        if next(self._count) % EVERY == 0:
            [(count,)] = self._connection.execute(TERMINATE, [NAME]).fetchall()
            self.ended += bool(count)

    def close(self) -> None:
        self._connection.close()


def _run(client: _Client, ender: _Ender) -> list[requests.Response]:
    answers = []
    for number in range(ROUNDS):
        for ask in client.requests(number):
            answers.append(ask())
            ender.note_response()
    return answers


def test_all_sessions_end_and_no_request_fails(parts: Parts, postgres: PostgresServer) -> None:
    customer = parts.customer()
    clients = [_Client(customer, number) for number in range(CLIENTS)]
    ender = _Ender(postgres.url(NAME))
    with closing(ender), ThreadPoolExecutor(CLIENTS) as pool:
        runs = pool.map(_run, clients, itertools.repeat(ender))
        answers = [answer for run in runs for answer in run]
    failed = [answer for answer in answers if answer.status_code != 200]
    # The only errors: the response to a commit was lost, and the client learns that.
    assert [answer.text for answer in failed if UNSURE_MESSAGE not in answer.text] == []
    assert len(failed) <= len(answers) / 20
    assert ender.ended == len(answers) // EVERY
    assert (
        sorted(Counter(message["to"] for message in parts.accepted()).values())
        == [1] * CLIENTS * ROUNDS
    )
