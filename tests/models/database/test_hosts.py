"""The order in which the hosts of a URL are tried, and the looks at one that does not respond."""

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from models.database import hosts

THREADS = 3


@pytest.mark.parametrize("is_pooled", [False, True])
def test_threads_that_wait_at_the_same_time_share_one_look(
    monkeypatch: pytest.MonkeyPatch, *, is_pooled: bool
) -> None:
    url = "postgresql://127.0.0.1/db"
    place: Any = SimpleNamespace(host="shared", hostaddr="", port=5432)
    looks = []

    def look() -> bool:
        if is_pooled:
            return hosts.has_another_primary(url, None)
        return hosts.responds(url, place)

    def fail(*_: object, **__: object) -> None:
        looks.append(is_pooled)
        time.sleep(0.1)
        raise OSError

    # A busy machine may start the threads late.
    monkeypatch.setattr(hosts, "SHARED_SECONDS", 10 * hosts.SHARED_SECONDS)
    monkeypatch.setattr(psycopg, "connect", fail)
    monkeypatch.setattr(psycopg.Connection, "connect", fail)
    with ThreadPoolExecutor(THREADS) as pool:
        for waiting in [pool.submit(look) for _ in range(THREADS)]:
            waiting.result()
    assert looks == [is_pooled]


def test_a_host_that_was_left_is_tried_last() -> None:
    url = "postgresql://h1,h2/db"
    hosts.remember(url, "h1", 5432)
    hosts.avoid(url, "h1", 5432)
    assert hosts.order(url)["host"] == "h2,h1"


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ("h1", {}),
        ("h1:1,h2:2", {"host": "h1,h2", "port": "1,2"}),
        ("h1,h2", {"host": "h1,h2", "port": "5432,5432"}),
        ("h1,h2:6000", {"host": "h1,h2", "port": "5432,6000"}),
    ],
)
def test_hosts_keep_their_order(places: str, expected: dict[str, str]) -> None:
    found = hosts.order(f"postgresql://user@{places}/db")
    assert {name: found[name] for name in expected} == expected
    assert bool(found) == bool(expected)


def test_the_attributes_of_the_url_take_precedence() -> None:
    assert hosts.order("postgresql://h1,h2/db")["target_session_attrs"] == "read-write"
    for given in ("any", "primary"):
        url = f"postgresql://h1,h2/db?target_session_attrs={given}"
        assert hosts.order(url)["target_session_attrs"] == given
