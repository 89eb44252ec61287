"""Usage is the sum of the statuses in any order, and remains when the messages are deleted.

``USAGE_MESSAGES`` sets the number of messages (``make usage``).
"""

import csv
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests

from contract_tests.callbacks.lives import COLUMNS, Kind, Line, changes, counted, lives
from contract_tests.callbacks.platform import SETTINGS, Platform, entry
from contract_tests.harness import WAIT_SECONDS, Customer, wait_for
from contract_tests.parts import Parts, deployed

MESSAGES = int(os.environ.get("USAGE_MESSAGES", "500"))
NUMBERS, DAYS, SEED = 3, 4, 1
# The age of the first messages. Callbacks that are older than eight days are set aside.
AGE_DAYS = 6
PATIENCE_SECONDS = 60 + MESSAGES // 20

pytestmark = pytest.mark.timeout(120 + 3 * PATIENCE_SECONDS)


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    """A service without a worker that stores messages for years."""
    with deployed(tmp_path, **SETTINGS, GATEWAY_RETENTION_DAYS="3650") as parts:
        yield parts


def _lines(parts: Parts, customer: Customer) -> list[Line]:
    """The customer's numbers, including additional ones."""
    account_id = customer.account_id
    more = [parts.cli("sandbox-connect", account_id) for _ in range(NUMBERS - 1)]
    state = requests.get(f"{parts.sandbox}/_sandbox/state", timeout=WAIT_SECONDS).json()
    network_ids = {n["display_phone_number"]: str(n["id"]) for n in state["numbers"]}
    numbers = [customer.number, *more]
    return [Line(account_id, n["id"], network_ids[n["phoneNumber"]]) for n in numbers]


def _kind(row: dict[str, Any]) -> Kind:
    return row["day"], row["numberId"], row["direction"], row["category"], row["billable"]


def _listed(customer: Customer, **query: str) -> Counter[Kind]:
    """All pages of the list."""
    found, offset, total = Counter[Kind](), 0, 1
    while offset < total:
        paged = {**query, "limit": "100", "offset": str(offset)}
        page = customer.request("GET", "/usage", params=paged).json()
        found.update({_kind(row): row["count"] for row in page["data"]})
        offset, total = offset + 100, page["pagination"]["total"]
    return found


def _exported(customer: Customer, **query: str) -> Counter[Kind]:
    answer = customer.request("GET", "/usage.csv", params=query)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows: list[dict[str, Any]] = list(csv.DictReader(answer.text.splitlines()))
    for row in rows:
        row |= {"category": row["category"] or None, "billable": row["billable"] == "true"}
    return Counter({_kind(row): int(row["count"]) for row in rows})


def _tell_all(parts: Parts, told: list[dict[str, Any]]) -> None:
    """Send all callbacks, signed and on several connections. The web process and two workers ingest them."""
    platform = Platform(parts.url)
    for _ in range(2):
        parts.start_worker()
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda change: platform.tell(entry("2001", change)), told):
            pass
    wait_for(
        lambda: not parts.stored.count("callback"),
        "all callbacks to be ingested",
        PATIENCE_SECONDS,
    )
    assert parts.stored.count("set_aside") == 0


def _remove_messages(parts: Parts) -> None:
    """Delete the messages by their retention period."""
    parts.stop_workers()
    # The identifiers of inbound messages contain the present time. Replace them.
    older = "UPDATE message SET id = 'msg_00' || substr(id, 7) WHERE direction = 'INBOUND'"
    parts.stored.change(older)
    parts.environment["GATEWAY_RETENTION_DAYS"] = "1"
    parts.start_worker()
    wait_for(lambda: not parts.stored.count("message"), "no message", PATIENCE_SECONDS)


def test_usage_sums_the_statuses_and_outlives_the_messages(parts: Parts) -> None:
    customer = parts.customer()
    lines = _lines(parts, customer)
    first: date = datetime.now(UTC).date() - timedelta(days=AGE_DAYS)
    outbound = lives(MESSAGES, lines, first, DAYS, SEED)
    inbound = lives(MESSAGES // 10, lines, first, DAYS, SEED + 1)
    places = ", ".join("?" * len(outbound[0].row))
    parts.stored.change_for_each(
        f"INSERT INTO message ({COLUMNS}) VALUES ({places})",  # noqa: S608 - our own words
        [life.row for life in outbound],
    )
    _tell_all(parts, changes(outbound, SEED, inbound))
    expected = counted(outbound, inbound)
    days = {"since": first.isoformat(), "until": (first + timedelta(days=DAYS)).isoformat()}

    def check() -> None:
        assert _listed(customer, **days) == _exported(customer, **days) == expected
        mine = {kind: n for kind, n in expected.items() if kind[1] == lines[0].id}
        assert _listed(customer, **days, numberId=lines[0].id) == mine
        day = {"since": days["since"], "until": (first + timedelta(days=1)).isoformat()}
        that_day = {kind: n for kind, n in expected.items() if kind[0] == days["since"]}
        assert _exported(customer, **day) == that_day

    check()
    _remove_messages(parts)
    check()
