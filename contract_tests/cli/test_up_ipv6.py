"""``gateway up`` at an IPv6 address."""

import socket
from pathlib import Path

import pytest
import requests

from contract_tests.backends import redis
from contract_tests.harness import WAIT_SECONDS, Gateway, wait_for


class Ipv6Gateway(Gateway):
    """It listens at ::1, which is also its public address."""

    options = ("--no-demo", "--host", "::1")

    @property
    def url(self) -> str:
        """The server's root."""
        return f"http://[::1]:{self.port}"


def test_the_service_works_at_an_ipv6_address(tmp_path: Path) -> None:
    service = Ipv6Gateway(tmp_path)
    del service.environment["GATEWAY_PUBLIC_URL"]
    service.start()
    try:
        said = f"Base URL    http://[::1]:{service.port}/api\n"
        wait_for(lambda: said in service.log(), "its address")
        customer = service.customer()
        sent = customer.send("15551234567").json()
        wait_for(
            lambda: customer.request("GET", f"/messages/{sent['id']}").json()["status"] != "sent",
            "a callback of the sandbox",
        )
    finally:
        assert service.stop() == 0


def test_a_port_in_use_at_an_ipv6_address_is_named(tmp_path: Path) -> None:
    service = Ipv6Gateway(tmp_path)
    taken = f"port {service.port} for the web is in use"
    with (
        socket.create_server(("::1", service.port), family=socket.AF_INET6),
        pytest.raises(AssertionError, match=taken),
    ):
        service.start()


class BothFamilies(Gateway):
    """It listens at every address of the machine."""

    options = ("--no-demo", "--host", "::")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_both_families_are_served_at_two_colons(tmp_path: Path, workers: str) -> None:
    service = BothFamilies(tmp_path)
    if workers != "1":
        service.environment |= {
            "GATEWAY_WORKERS": workers,
            "GATEWAY_RATE_LIMIT_URL": redis().url(0),
        }
    del service.environment["GATEWAY_PUBLIC_URL"]
    service.start()
    try:
        said = f"Base URL    http://[::1]:{service.port}/api\n"
        wait_for(lambda: said in service.log(), "its address")
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
    finally:
        assert service.stop() == 0


def test_a_port_in_use_at_one_family_is_named(tmp_path: Path) -> None:
    service = BothFamilies(tmp_path)
    taken = f"port {service.port} for the web is in use"
    with (
        socket.create_server(("127.0.0.1", service.port)),
        pytest.raises(AssertionError, match=taken),
    ):
        service.start()


class Named(Gateway):
    """It listens at the addresses of a name."""

    options = ("--no-demo", "--host", "localhost")


def test_the_service_works_at_a_name(tmp_path: Path) -> None:
    service = Named(tmp_path)
    del service.environment["GATEWAY_PUBLIC_URL"]
    service.start()
    try:
        said = f"Base URL    http://localhost:{service.port}/api\n"
        wait_for(lambda: said in service.log(), "its address")
    finally:
        assert service.stop() == 0
