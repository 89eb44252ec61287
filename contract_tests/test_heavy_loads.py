"""The heaviest use by one account takes bounded memory, and delays no other account.

``make attacks`` loads for a minute in each way, checks the delays too, and prints the figures. Related tests:

- conformance/test_conformance_limits.py and test_several_webs.py check how many requests pass.
- test_worker_memory.py has events of 1 MiB, and test_erasures.py an account with 1,000 waiting erasures.
- benchmarks/amplification.py measures what a stranger's server gets.
"""

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from contract_tests.harness import Gateway, Receiver, running
from contract_tests.heavy_account import heavy_account
from contract_tests.heavy_loads import LOADS, TOO_MANY, loading
from contract_tests.heavy_receivers import POSTS
from contract_tests.memory import BUDGET_KIB, forget_peak, memory_kib, peak_kib
from contract_tests.victim import Felt, Victim

SECONDS = float(os.environ.get("ATTACK_SECONDS", "3"))
WINDOW_SECONDS = 60
IS_LONG = SECONDS >= WINDOW_SECONDS
PER_MINUTE = 100
# The stored messages of the account: those of a minute, or few that are soon sent.
MESSAGES = PER_MINUTE if IS_LONG else PER_MINUTE // 3
# The 99th percentile of another account's requests, or this multiple of it without a load.
BOUND_SECONDS, NOISE = 0.25, 4
# How much later than without a load a response or an event may come, or an erasure end.
LATE_SECONDS = 2.0
# Events a minute to a host that never responded with 2xx (docs/rate-limits.md).
NEW_TO_A_STRANGER = 10
PARTS = ("web", "worker")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """The service, with the default limits of the plan Starter."""
    limits = {"GATEWAY_PLAN_LIMITS": f"starter={PER_MINUTE},pro=1000000,anonymous=1000000"}
    with running(tmp_path_factory.mktemp("gateway"), **limits) as service:
        yield service


@pytest.fixture(scope="module")
def started(gateway: Gateway) -> dict[int, int]:
    """The memory of web and worker after their start, in KiB by process."""
    return {pid: memory_kib(pid) for pid in map(gateway.part, PARTS)}


@pytest.fixture(scope="module")
def victim(gateway: Gateway) -> Iterator[Victim]:
    """Another account, which uses every part of the service."""
    receiver = Receiver()
    yield Victim(gateway, gateway.customer("pro"), receiver)
    receiver.close()


@pytest.fixture(scope="module")
def idle(victim: Victim) -> Felt:
    """What it feels without a load."""
    return victim.felt(max(SECONDS / 3, 5))


def _passed(statuses: Counter[str]) -> int:
    """The requests that the rate limit let pass."""
    refused = str(TOO_MANY)
    return sum(n for status, n in statuses.items() if status.isdigit() and status != refused)


@pytest.mark.timeout(60 + 3 * SECONDS)
@pytest.mark.parametrize("load", LOADS)
def test_a_heavy_load_takes_bounded_memory_and_delays_nothing_of_another_account(
    gateway: Gateway, started: dict[int, int], victim: Victim, idle: Felt, load: str
) -> None:
    target = heavy_account(gateway, MESSAGES)
    for pid in started:
        forget_peak(pid)
    with loading(target, load) as statuses:
        felt = victim.felt(SECONDS)
    taken = [peak_kib(pid) - kib for pid, kib in started.items()]
    print(  # noqa: T201 - for make attacks
        f"\n{load}: web +{taken[0] // 1024} MB, worker +{taken[1] // 1024} MB, victim {felt},"
        f" idle {idle}, {dict(statuses)}"
    )
    assert statuses
    assert not [status for status in statuses if status.startswith("5")]
    assert [gateway.part(name) for name in PARTS] == [*started]
    assert max(taken) < BUDGET_KIB
    # Short loads run beside other tests.
    if IS_LONG:
        assert felt.p99 < max(BOUND_SECONDS, NOISE * idle.p99)
        assert felt.latest - idle.latest < max(LATE_SECONDS, NOISE * idle.latest)
    windows = 2 + SECONDS // WINDOW_SECONDS
    if load == "more requests than the plan":
        assert _passed(statuses) <= PER_MINUTE * (windows - 1)
        # A slow machine does not reach the limit within seconds.
        assert _passed(statuses) >= PER_MINUTE or not IS_LONG
    # Each event is retried once within a minute.
    assert statuses[POSTS] <= 2 * NEW_TO_A_STRANGER * windows
