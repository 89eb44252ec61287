"""``gateway up`` at an IPv6 address, at both families, and at a name."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from contract_tests.backends import redis
from contract_tests.harness import WAIT_SECONDS, Gateway, wait_for


class GatewayAt(Gateway):
    """It listens at ``host``. Its clients use ``address``, which is also the public one."""

    def __init__(self, folder: Path, host: str, address: str, **settings: str) -> None:
        super().__init__(folder, **settings)
        del self.environment["GATEWAY_PUBLIC_URL"]
        self.options = ("--no-demo", "--host", host)
        self._address = address

    @property
    def url(self) -> str:
        """The server's root."""
        return f"http://{self._address}:{self.port}"


@contextmanager
def _serving(service: Gateway) -> Iterator[Gateway]:
    """It starts, and says its address."""
    service.start()
    try:
        said = f"Base URL    {service.api}\n"
        wait_for(lambda: said in service.log(), "its address")
        yield service
    finally:
        assert service.stop() == 0


def test_the_service_works_at_an_ipv6_address(tmp_path: Path) -> None:
    with _serving(GatewayAt(tmp_path, "::1", "[::1]")) as service:
        customer = service.customer()
        sent = customer.send("15551234567").json()
        wait_for(
            lambda: customer.request("GET", f"/messages/{sent['id']}").json()["status"] != "sent",
            "a callback of the sandbox",
        )


@pytest.mark.parametrize("workers", ["1", "2"])
def test_both_families_are_served_at_two_colons(tmp_path: Path, workers: str) -> None:
    settings = {"GATEWAY_WORKERS": workers, "GATEWAY_RATE_LIMIT_URL": redis().url(0)}
    several = settings if workers != "1" else {}
    with _serving(GatewayAt(tmp_path, "::", "[::1]", **several)) as service:
        left = []
        for host in ("127.0.0.1", "[::1]"):
            # A proxy on the machine is trusted, so both requests count for the address behind it.
            answer = requests.get(
                f"http://{host}:{service.port}/api/numbers",
                headers={"X-Forwarded-For": "203.0.113.7"},
                timeout=WAIT_SECONDS,
            )
            assert answer.status_code == 401
            left.append(int(answer.headers["X-RateLimit-Remaining"]))
        assert left[1] == left[0] - 1


@pytest.mark.parametrize(
    ("host", "taken", "family"),
    [("::1", "::1", socket.AF_INET6), ("::", "127.0.0.1", socket.AF_INET)],
)
def test_a_port_in_use_at_one_address_is_named(
    tmp_path: Path, host: str, taken: str, family: socket.AddressFamily
) -> None:
    service = GatewayAt(tmp_path, host, "[::1]")
    with (
        socket.create_server((taken, service.port), family=family),
        pytest.raises(AssertionError, match=f"port {service.port} for the web is in use"),
    ):
        service.start()


def test_the_service_works_at_a_name(tmp_path: Path) -> None:
    with _serving(GatewayAt(tmp_path, "localhost", "localhost")):
        pass
