"""``gateway up`` at an IPv6 address."""

import socket
from pathlib import Path

import pytest

from contract_tests.harness import Gateway, wait_for


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
