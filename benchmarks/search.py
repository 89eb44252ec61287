"""Measures the dashboard's search, and the cost of its index.

``make bench-search`` runs it, with BENCH_MESSAGES=1000000 messages of forty days and BENCH_CONTACTS=200000
contacts, on BENCH_SEARCH_BACKENDS=SQLite,PostgreSQL. One account has 5 of 8 messages and contacts.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from string import Template

from flask import Flask

from benchmarks.machine import cpu_seconds
from benchmarks.populate import SPAN_MS, Owner, make_owners, places, tidy_up
from benchmarks.report import Figure, Goal, Table
from contract_tests.servers import PostgresServer
from dashboard import guard
from dashboard.urls import blueprint
from gateway.settings import get_settings
from models import clock, database
from models.accounts import secret
from models.accounts.account import Account
from models.accounts.user_session import UserSession
from models.database import database as connected
from models.database import writing
from models.messages import contact_search, search
from models.messages.search import find
from models.messages.words import words_of
from services import members
from tasks.indexing import BATCH_SIZE, SETTLED_MS

MESSAGES = int(os.environ.get("BENCH_MESSAGES", "1000000"))
CONTACTS = int(os.environ.get("BENCH_CONTACTS", "200000"))
BACKENDS = os.environ.get("BENCH_SEARCH_BACKENDS", "SQLite,PostgreSQL").split(",")
STATEMENTS = Path(__file__).with_suffix(".sql")
PARTS = 100
SHOWN = 20
RUNS, WARM_UPS = 40, 3
MOST_MS = 150
# The cost of a send (docs/performance.md), in ms of CPU.
MOST_CPU = 0.1
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SYLLABLES = "".join(f"{consonant}{vowel}" for consonant in "bdfgklmnprstvz"[:8] for vowel in "aeiu")
METHOD = (
    "Each message has an order number and ten of 32,768 words. The product's"
    f" functions below HTTP find the newest {SHOWN}; each runs {RUNS} times. The last messages are not in the"
    " index yet, as in a running service."
)

Work = Callable[[], object]


def run(rounds: int) -> Iterator[Table]:
    """Fill a database on each backend, index it and search it."""
    secret.use_keys(*get_settings().encryption_keys())
    for backend in BACKENDS:
        with _server(backend) as (url, pid):
            database.connect(url)
            database.migrate()
            owner = _fill()
            yield _measure(backend, owner, rounds, pid)


@contextmanager
def _server(backend: str) -> Iterator[tuple[str, int | None]]:
    """The URL of an empty database, and the process of its server if it has one."""
    if backend == "PostgreSQL":
        with PostgresServer() as server:
            yield server.database("search"), server.process.pid if server.process else None
        return
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite://{Path(folder, 'search.db')}", None


def _fill() -> Owner:
    owners = make_owners()
    shared = {
        "places": ", ".join(places(owners)),
        "count": str(MESSAGES),
        "begin": str(clock.now() - SPAN_MS),
        "span": str(SPAN_MS),
        "time_part": _time_part(),
        "words": " || ' ' || ".join(_word("n", place) for place in range(10)),
        "name": f"{_word('n', 11)} || ' ' || {_word('n', 12)}",
    }
    for part in range(PARTS):
        bounds = {
            "first": part * MESSAGES // PARTS,
            "last": (part + 1) * MESSAGES // PARTS - 1,
            "first_contact": part * CONTACTS // PARTS,
            "last_contact": (part + 1) * CONTACTS // PARTS - 1,
        }
        with writing():
            for statement in STATEMENTS.read_text(encoding="utf-8").split("\n;\n"):
                connected.execute_sql(Template(statement).substitute(shared, **bounds))
    tidy_up()
    return owners[0]


def _time_part() -> str:
    """SQL for the ten characters of an identifier that encode the time ``at``."""
    digits = (
        f"substr('{ALPHABET}', CAST(((at >> {5 * place}) & 31) + 1 AS INTEGER), 1)"
        for place in reversed(range(10))
    )
    return " || ".join(digits)


def _word(number: str, place: int) -> str:
    """SQL for a pseudo-random one of 32,768 words of three syllables."""
    mixed = f"(({number} + {place * 7919}) * 2654435761)"
    syllables = (
        f"substr('{SYLLABLES}', CAST((({mixed} >> {shift}) & 31) * 2 + 1 AS INTEGER), 2)"
        for shift in (11, 17, 23)
    )
    return " || ".join(syllables)


def _measure(backend: str, owner: Owner, rounds: int, pid: int | None) -> Table:
    table = Table(
        f"Search of {MESSAGES:,} messages and {CONTACTS:,} contacts, on {backend}", METHOD
    )
    cost = _index(pid)
    table.figures.append(Figure("index a message, CPU", "ms", (cost,)))
    table.goals.append(Goal("CPU of the index a message, ms", cost, MOST_CPU, at_most=True))
    works = {**_searches(owner.account.id), **_pages(owner.account)}
    for name, work in works.items():
        times = tuple(_timed(work) for _ in range(WARM_UPS + RUNS * rounds))[WARM_UPS:]
        table.figures.append(Figure(name, "ms", times))
        p95 = sorted(times)[len(times) * 95 // 100]
        table.goals.append(Goal(f"{name}, p95", p95, MOST_MS, at_most=True))
    return table


def _index(pid: int | None) -> float:
    """Index all but the last messages. Returns the CPU time of a message in ms, here and on the server."""
    now, added = clock.now(), 0
    began = _used(pid)
    while count := search.add(now - SETTLED_MS, 0, BATCH_SIZE):
        added += count
    return (_used(pid) - began) * 1000 / added


def _used(pid: int | None) -> float:
    """The CPU seconds of this process and of the server."""
    return time.process_time() + (0 if pid is None else cpu_seconds(pid))


def _pages(account: Account) -> Mapping[str, Work]:
    """The search page, with all its queries."""
    user = members.create(account, "bench@example.com", "correct horse battery")
    app = Flask("pages")
    app.register_blueprint(blueprint)
    token = UserSession.begin(user)
    app.extensions[guard.EXTENSION] = lambda _environ: UserSession.resume(token)
    browser = app.test_client()
    browser.set_cookie("gateway_session", token)

    def show(text: str) -> None:
        answer = browser.get("/dashboard/search", query_string={"q": text})
        if answer.status_code != HTTPStatus.OK:
            raise RuntimeError(f"the search page responded with {answer.status}")

    def page(text: str) -> Work:
        return lambda: show(text)

    typed = ("order", "zanzibar", "north south", "+1 (555) 013-1072", "quetzal")
    return {f"page: {text}": page(text) for text in typed}


def _searches(account_id: str) -> Mapping[str, Work]:
    def texts(text: str) -> Work:
        return lambda: find(account_id, words_of(text), SHOWN)

    def people(**wanted: str) -> Work:
        return lambda: contact_search.search(account_id, SHOWN, 0, **wanted)

    return {
        "texts: a word in all": texts("order"),
        "texts: a common beginning": texts("bab"),
        "texts: a rare word": texts("zanzibar"),
        "texts: an order's number": texts(str(MESSAGES // 3 & ~15)),
        "texts: a beginning of numbers": texts("123"),
        "texts: no such word": texts("quetzal"),
        "texts: two words that never meet": texts("north south"),
        "texts: three words": texts("order zanzibar south"),
        "contacts": people(),
        "contacts: a rare name": people(text="anzib"),
        "contacts: a common part": people(text="ba"),
        "contacts: no such name": people(text="quetzal"),
        "contacts: a phone number": people(text="15550131072"),
        "contacts: a username": people(text="person.4096"),
    }


def _timed(work: Work) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000
