"""Measures a list of 1,000,000 suppressions: its import, the check at a send, and other writers meanwhile.

``make bench-suppressions`` runs it.

The file is imported below HTTP in this process, while a thread commits small transactions. Then people who
are on the list and people who are not are checked in turns. BENCH_SUPPRESSIONS=1000000 and
BENCH_GROWTH_BACKENDS=SQLite,PostgreSQL change that. Exits with 1 if a goal is missed.
"""

import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median, quantiles
from tempfile import TemporaryFile

from benchmarks import growth
from benchmarks.report import Figure, Goal, Table, show
from gateway.settings import get_settings
from models import database
from models.accounts import secret
from models.accounts.account import Account
from models.errors import ConflictError
from models.messages.contact import Contact
from models.messages.suppression import Suppression
from models.numbers.number import Number, NumberStatus
from services import consent, suppression_lists

LINES = int(os.environ.get("BENCH_SUPPRESSIONS", "1000000"))
CHECKS, MOST_SECONDS, MOST_MS = 2_000, 60, 1
# Between two transactions of the other writer.
PAUSE_SECONDS = 0.02
METHOD = (
    f"{LINES:,} lines with a phone number, a reason and a time. {CHECKS:,} checks of people who are on the"
    " list, and as many of others, in random order. Another thread writes every 20 ms during the import."
)


def _phone(line: int) -> str:
    return f"49{15_000_000_000 + line}"


def _import(account: Account) -> tuple[float, float, suppression_lists.Imported]:
    """Import the list. Returns how long it took, and the CPU time of this process, in seconds."""
    with TemporaryFile() as file:
        file.write(b"person,reason,time\r\n")
        for line in range(LINES):
            file.write(b"%s,by mail,2026-01-31T12:00:00Z\r\n" % _phone(line).encode())
        began, used = time.perf_counter(), time.process_time()
        result = suppression_lists.load(account.id, file)
        return time.perf_counter() - began, time.process_time() - used, result


def _writing(account: Account, waits: list[float], is_over: threading.Event) -> None:
    """Commit small transactions, and note how long each took in ms."""
    while not is_over.wait(PAUSE_SECONDS):
        began = time.perf_counter()
        account.amend(name="Acme")
        waits.append((time.perf_counter() - began) * 1000)


def _checks(number: Number) -> list[float]:
    """How long each check took, in ms."""
    lines = random.Random(1).sample(range(2 * LINES), 2 * CHECKS)  # noqa: S311 - no secret
    people = [Contact(account=number.account_id, number=number.id, phone=_phone(n)) for n in lines]
    took, refused = [], 0
    for contact in people:
        contact.id = "ctc_1"
        began = time.perf_counter()
        try:
            consent.require(contact, "it is marketing.")
        except ConflictError:
            refused += 1
        took.append((time.perf_counter() - began) * 1000)
    if refused != sum(line < LINES for line in lines):
        raise RuntimeError(f"{refused} people were refused")
    return took


def _listed(account: Account) -> float:
    """How long the first page of the list takes, in ms."""
    began = time.perf_counter()
    Suppression.search(account, 20, 0, None, None)
    return (time.perf_counter() - began) * 1000


def _exported(account: Account) -> float:
    """How long the export takes, in seconds."""
    began = time.perf_counter()
    if sum(part.count(b"\n") for part in suppression_lists.dump(account.id)) != LINES + 1:
        raise RuntimeError("the export has other lines")
    return time.perf_counter() - began


def _connected(account: Account) -> Number:
    given = {"phone_number_id": "1001", "waba_id": "2001", "phone_number": "15550001111"}
    secrets = {"access_token": "token", "pin": "123456"}
    number = Number.provision(account.id, display_name="Acme", **given, **secrets)
    with database.writing():
        number.move_to(NumberStatus.ACTIVE)
    return number


def measure(backend: str, url: str) -> Table:
    """Import and check, on an empty database."""
    database.connect(url)
    database.migrate()
    account = Account.open("Acme", "pro")
    number = _connected(account)
    waits, is_over = list[float](), threading.Event()
    writer = threading.Thread(target=_writing, args=(Account.get_by_id(account.id), waits, is_over))
    writer.start()
    try:
        seconds, used, result = _import(account)
    finally:
        is_over.set()
        writer.join()
    if result.added != LINES:
        raise RuntimeError(f"{result.added} people were added")
    account = Account.get_by_id(account.id)
    checks = _checks(number)
    hundredths = quantiles(checks, n=100)
    table = Table(f"Suppressions, on {backend}", METHOD)
    figures: dict[str, tuple[str, float]] = {
        "import": ("s", seconds),
        "import, CPU time of the process": ("s", used),
        "check at a send, median": ("ms", median(checks)),
        "check at a send, p95": ("ms", hundredths[94]),
        "check at a send, p99": ("ms", hundredths[-1]),
        "other writer, median": ("ms", median(waits)),
        "other writer, p99": ("ms", quantiles(waits, n=100)[-1]),
        "other writer, longest": ("ms", max(waits)),
        "first page of the list": ("ms", median(_listed(account) for _ in range(5))),
        "export": ("s", _exported(account)),
    }
    table.figures = [Figure(name, unit, (value,)) for name, (unit, value) in figures.items()]
    table.goals += [
        Goal("import, s", seconds, MOST_SECONDS, at_most=True),
        Goal("check, median in ms", median(checks), MOST_MS, at_most=True),
    ]
    return table


def tables(measured: Callable[[str, str], Table] = measure) -> Iterator[Table]:
    """One for each backend."""
    secret.use_keys(*get_settings().encryption_keys())
    for backend in growth.BACKENDS:
        with growth.empty_databases(backend, [LINES]) as [url]:
            yield measured(backend, url)


if __name__ == "__main__":
    sys.exit(show(tables()))
