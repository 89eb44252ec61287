"""A reader of events misses none without a 409, whatever happens to the database: ``make failover``."""

import os
import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from contract_tests.backends import PGBOUNCER, POSTGRESQL, SQLITE
from contract_tests.chaos.engines import engines
from contract_tests.failover.histories import History, histories
from contract_tests.failover.readers import PageReader, Reader
from contract_tests.harness import START_SECONDS, Customer, wait_for
from contract_tests.parts import Parts, deployed
from contract_tests.stored import Stored

CHANGES = int(os.environ.get("HISTORIES", "20"))
SEED = int(os.environ.get("HISTORIES_SEED", secrets.randbits(32)))

pytestmark = pytest.mark.timeout(60 * CHANGES)


@pytest.mark.parametrize("backend", [SQLITE, POSTGRESQL, PGBOUNCER])
def test_no_event_is_skipped_in_silence(backend: str, tmp_path: Path) -> None:
    dice = random.Random(SEED)  # noqa: S311 - no secret
    print(f"\n  {CHANGES} histories on {backend}, HISTORIES_SEED={SEED}")  # noqa: T201
    with engines(backend, synchronous=False) as below, _service(tmp_path, below.settings) as parts:
        parts.stored = Stored({**parts.environment, **below.direct})
        customer = parts.customer()
        always, sometimes = PageReader(customer), PageReader(customer)
        ways = histories(below, parts)
        with always.running(), sometimes.running():
            for number in range(CHANGES):
                name = dice.choice(list(ways)) if number >= len(ways) else list(ways)[number]
                lost = _live_through(ways[name](), parts, customer, sometimes, dice)
                for reader in (always, sometimes):
                    _wait_until_all_is_read(reader, parts, name)
                announced = always.announced, sometimes.announced
                print(f"  {name}: {lost} events lost, announced so far: {announced}")  # noqa: T201
                if lost:
                    assert always.announced > 0


def _live_through(
    history: History, parts: Parts, customer: Customer, sometimes: Reader, dice: random.Random
) -> int:
    """Events before the backup, between backup and restore, and after. Returns how many were lost."""
    _send(customer, dice.randint(0, 3))
    history.save()
    _send(customer, dice.randint(1, 15))
    before = _stored(parts)
    if dice.random() < 1 / 2:
        wait_for(lambda: sometimes.ids >= before, "all events read")
    sometimes.pause()
    if history.stops:
        _stop(parts)
    history.change()
    if history.stops:
        _start(parts)
    wait_for(parts.is_ready, "a ready service", START_SECONDS)
    lost = before - _stored(parts)
    # Sometimes fewer events than were lost, sometimes more.
    _send(customer, dice.randint(1, 30))
    sometimes.resume()
    return len(lost)


def _send(customer: Customer, messages: int) -> None:
    """Send messages. Each makes an event at once, and more when the network reports statuses."""
    for number in range(messages):
        wait_for(lambda number=number: _is_sent(customer, number), "a message sent", 90)  # type: ignore[misc]


def _is_sent(customer: Customer, number: int) -> bool:
    try:
        return customer.send(f"1558{number:07d}").ok
    except requests.RequestException:
        return False


def _stored(parts: Parts) -> set[str]:
    return {str(event_id) for (event_id,) in parts.stored.rows("SELECT id FROM event")}


def _wait_until_all_is_read(reader: Reader, parts: Parts, name: str) -> None:
    try:
        wait_for(lambda: reader.ids >= _stored(parts), "all events read")
    except AssertionError:
        missed = _stored(parts) - reader.ids
        raise AssertionError(f"{name}: {len(missed)} events were never read") from None


@contextmanager
def _service(folder: Path, settings: object) -> Iterator[Parts]:
    with deployed(folder, **dict(settings)) as parts:  # type: ignore[call-overload]
        parts.start_worker()
        yield parts


def _stop(parts: Parts) -> None:
    parts.stop_workers()
    assert parts.process is not None
    parts.process.terminate()
    parts.process.wait(START_SECONDS)


def _start(parts: Parts) -> None:
    parts.cli("migrate")
    parts.start_web()
    parts.start_worker()
