"""The faults of a PostgreSQL with a standby: failovers, a primary that refuses writes, lost sessions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import psycopg

from contract_tests.chaos.engines import DATABASE, Engines
from contract_tests.chaos.fault import SHORT, Fault
from contract_tests.failover.pair import Member, Pair

TERMINATE = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = %s AND pid <> pg_backend_pid()
"""
ENDS: dict[str, Callable[[Member], object]] = {"killed": Member.kill, "frozen": Member.freeze}


def of_database(below: Engines) -> list[Fault]:
    """The faults of this kind. Their effects outlast a small storm."""
    pair = below.pair
    if pair is None:
        return []
    how = "PgBouncer switched over" if below.pooler else "standby promoted"
    found = [
        Fault("failover", "all sessions terminated", partial(_terminated, pair), seconds=SHORT),
        Fault("failover", "primary read-only", partial(_read_only, pair)),
    ]
    for way, end in ENDS.items():
        happening = partial(_failed_over, below, end)
        fault = Fault("failover", f"primary {way}, {how}", happening, is_felt=True)
        found.append(replace(fault, is_slow=True, afterwards=pair.rebuild))
    return found


@contextmanager
def _failed_over(below: Engines, end: Callable[[Member], object]) -> Iterator[None]:
    """The old primary stays as it is until the service works with the new one."""
    pair = below.pair
    assert pair is not None
    pair.ensure_standby()
    end(pair.primary)
    try:
        yield
    finally:
        below.fail_over()


@contextmanager
def _read_only(pair: Pair) -> Iterator[None]:
    pair.primary.change(default_transaction_read_only="on")
    try:
        yield
    finally:
        pair.primary.change(default_transaction_read_only="")


@contextmanager
def _terminated(pair: Pair) -> Iterator[None]:
    with psycopg.connect(pair.primary.url("postgres"), autocommit=True) as connection:
        connection.execute(TERMINATE, [DATABASE])
    yield
