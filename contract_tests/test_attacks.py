"""An attack by one account, or without a key, delays the requests of other accounts by at most 250 ms.

These attacks hold many connections. test_heavy_loads.py has those within the limits of a plan.
"""

import http.client
import math
import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract_tests.attacks import ATTACKS, CONNECTIONS, Attacker, Door, attacking
from contract_tests.dashboard.person import SESSION, Person
from contract_tests.harness import ROOT, WAIT_SECONDS, Customer, Gateway, running
from contract_tests.memory import BUDGET_KIB, memory_kib, peak_kib
from contract_tests.nginx import Nginx
from contract_tests.server_process import HOST

# Not the attackers' address: a proxy limits connections by address.
ADDRESS = "127.0.0.3"
EMAIL = "attacker@example.com"
UNLIMITED = "starter=1000000,pro=1000000,anonymous=1000000"
BOUND_SECONDS = 0.25
# Each client sends a request every BOUND_SECONDS. A response within the bound delays no other request.
CLIENTS, REQUESTS = 8, 5
HOPELESS_SECONDS = 2
# The statuses that each attack must get, and those that it may get.
ANSWERS: dict[str, tuple[set[int], set[int]]] = {
    "large wrong bodies": ({400}, {400, 429}),
    "large wrong bodies without a key": ({401}, {401, 429}),
    "a cookie of escapes": ({303}, {303, 429}),
    "tests of a silent receiver": ({429}, {200, 429}),
    "slow heads": (set(), {408}),
    "slow bodies": (set(), {408}),
    "slow bodies to the dashboard": ({429}, {408, 429}),
    "no reading": (set(), set()),
}
# Attacks that a proxy in front of the service has to handle itself.
AT_THE_PROXY = ("slow heads", "slow bodies", "slow bodies to the dashboard", "no reading")
# Another program may disturb a round: one of three has to be within the bound.
ROUNDS = 3
# The bound grows by this multiple of the p99 without an attack, which is some 10 ms on two idle cores.
NOISE = 4


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, int]]:
    """A service without rate limits, and the memory of its web at the start in KiB.

    These tests cover its other limits.
    """
    folder: Path = tmp_path_factory.mktemp("gateway")
    with running(folder, GATEWAY_PLAN_LIMITS=UNLIMITED) as service:
        yield service, memory_kib(service.part("web"))


@pytest.fixture(scope="module")
def gateway(started: tuple[Gateway, int]) -> Gateway:
    """The service."""
    return started[0]


@pytest.fixture(scope="module")
def door(request: pytest.FixtureRequest, gateway: Gateway) -> Iterator[Door]:
    """The port under attack."""
    if request.param == "direct":
        yield Door(gateway.port)
        return
    with Nginx((ROOT / "deploy" / "nginx.conf").read_text(), gateway.port) as proxy:
        yield Door(proxy.port, str(proxy.certificate))


@pytest.fixture(scope="module")
def victim(gateway: Gateway) -> Customer:
    """The other account."""
    return gateway.customer("starter")


@pytest.fixture(scope="module")
def bound(door: Door, victim: Customer) -> float:
    """The seconds that a request may take during an attack."""
    return BOUND_SECONDS + NOISE * max(_round(door, victim))


@pytest.fixture(scope="module")
def attacker(gateway: Gateway) -> Iterator[Attacker]:
    """An account with a webhook whose receiver accepts connections and never answers."""
    customer = gateway.customer("starter", with_number=False)
    # The kernel accepts the connections, and nothing reads from them.
    with socket.create_server((HOST, 0), backlog=CONNECTIONS) as silent:
        body = {"url": f"http://{HOST}:{silent.getsockname()[1]}/", "events": ["message.sent"]}
        webhook = customer.request("POST", "/webhooks", json=body)
        user = gateway.cli("users", "create", EMAIL, "--account", customer.account_id)
        person = Person(gateway.url, EMAIL, user["password"]).signed_in()
        yield Attacker(customer.key, webhook.json()["id"], f"{SESSION}={person.session}")


def _connect(door: Door) -> http.client.HTTPConnection:
    trust, source = door.trust(), (ADDRESS, 0)
    if trust is None:
        return http.client.HTTPConnection(HOST, door.port, WAIT_SECONDS, source_address=source)
    return http.client.HTTPSConnection(
        HOST, door.port, context=trust, timeout=WAIT_SECONDS, source_address=source
    )


def _ask(door: Door, path: str, key: str | None, place: int) -> list[float]:
    """The seconds from each request's due time to its response. With a key the connection is reused."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    seconds: list[float] = []
    begun = time.monotonic() + BOUND_SECONDS * place / CLIENTS
    with closing(_connect(door)) as connection:
        while len(seconds) < REQUESTS and max(seconds, default=0) < HOPELESS_SECONDS:
            due = begun + BOUND_SECONDS * len(seconds)
            time.sleep(max(0, due - time.monotonic()))
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == http.HTTPStatus.OK
            seconds.append(time.monotonic() - due)
            if key is None:
                connection.close()
    return seconds


def _p99(seconds: Sequence[float]) -> float:
    return sorted(seconds)[math.ceil(0.99 * len(seconds)) - 1]


def _round(door: Door, victim: Customer) -> list[float]:
    """The p99 of an account's request, and of a probe with a new connection each time."""
    asked: dict[str, str | None] = {"/api/numbers": victim.key, "/healthz": None}
    with ThreadPoolExecutor(CLIENTS * len(asked)) as pool:
        rounds = [
            [pool.submit(_ask, door, path, key, place) for place in range(CLIENTS)]
            for path, key in asked.items()
        ]
        return [_p99([s for each in found for s in each.result()]) for found in rounds]


@dataclass(frozen=True)
class Siege:
    """The environment of an attack's test."""

    gateway: Gateway
    door: Door
    victim: Customer
    bound: float
    attacker: Attacker
    started_kib: int

    def endure(self, attack: str) -> None:
        """Attack, and fail if another account waits longer than the bound."""
        web = self.gateway.part("web")
        rounds: list[list[float]] = []
        with attacking(self.door, self.attacker, attack) as statuses:
            while len(rounds) < ROUNDS and not (rounds and max(rounds[-1]) < self.bound):
                rounds.append(_round(self.door, self.victim))
        assert max(rounds[-1]) < self.bound, (self.bound, rounds)
        least, most = ANSWERS[attack]
        assert least <= statuses.keys() <= most
        assert self.gateway.part("web") == web
        assert peak_kib(web) - self.started_kib < BUDGET_KIB


@pytest.fixture(scope="module")
def siege(
    started: tuple[Gateway, int], door: Door, victim: Customer, bound: float, attacker: Attacker
) -> Siege:
    """The service, its door and both accounts."""
    gateway, started_kib = started
    return Siege(gateway, door, victim, bound, attacker, started_kib)


@pytest.mark.parametrize("door", ["direct"], indirect=True, scope="module")
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_delays_no_other_account(siege: Siege, attack: str) -> None:
    siege.endure(attack)


@pytest.mark.parametrize("door", ["nginx"], indirect=True, scope="module")
@pytest.mark.parametrize("attack", AT_THE_PROXY)
def test_an_attack_on_the_proxy_delays_no_other_account(siege: Siege, attack: str) -> None:
    siege.endure(attack)
