"""No event is skipped without a warning, also over restores and failovers: ``make failover``."""

import os
import random
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from contract_tests.backends import PGBOUNCER, POSTGRESQL, SQLITE
from contract_tests.chaos.engines import engines
from contract_tests.failover.histories import History, histories
from contract_tests.failover.readers import PageReader, Reader, StreamReader
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
        stream, pages = StreamReader(customer), PageReader(customer)
        readers: list[Reader] = [stream, pages]
        ways = histories(below, parts)
        stream.start()
        with pages.running():
            for number in range(CHANGES):
                name = dice.choice(list(ways)) if number >= len(ways) else list(ways)[number]
                known = [reader.announced for reader in readers]
                lost = _live_through(ways[name](), parts, customer, readers, pages, dice)
                for reader in readers:
                    _wait_until_all_is_read(reader, parts, name)
                came = [reader.announced - n for reader, n in zip(readers, known, strict=True)]
                print(f"  {name}: readers lost {lost}, and were refused {came} times")  # noqa: T201
                assert all(n or not gone for n, gone in zip(came, lost, strict=True)), name


def _live_through(
    history: History,
    parts: Parts,
    customer: Customer,
    readers: Sequence[Reader],
    pages: PageReader,
    dice: random.Random,
) -> list[int]:
    """Events before the backup, between backup and restore, and after.

    Returns for each reader how many of the events that it had read the database lost in this history.
    """
    before = [_lost(reader, parts) for reader in readers]
    _send(customer, dice.randint(0, 3))
    history.save()
    _send(customer, dice.randint(1, 15))
    if dice.random() < 2 / 3:
        for reader in readers:
            _wait_until_all_is_read(reader, parts, "before")
    pages.pause()
    if history.stops:
        _stop(parts)
    history.change()
    if history.stops:
        _start(parts)
    wait_for(parts.is_ready, "a ready service", START_SECONDS)
    lost = [_lost(reader, parts) - n for reader, n in zip(readers, before, strict=True)]
    # Sometimes fewer events than were lost, sometimes more.
    _send(customer, dice.randint(1, 30))
    pages.resume()
    return lost


def _send(customer: Customer, messages: int) -> None:
    """Send messages. Each makes an event at once, and more when the network reports statuses."""
    for number in range(messages):
        wait_for(lambda number=number: _is_sent(customer, number), "a message sent", 90)  # type: ignore[misc]


def _is_sent(customer: Customer, number: int) -> bool:
    try:
        return customer.send(f"1558{number:07d}").ok
    except requests.RequestException:
        return False


def _lost(reader: Reader, parts: Parts) -> int:
    """How many events it has read that are not in the database."""
    return len(reader.ids - _stored(parts))


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
