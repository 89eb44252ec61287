"""Fixtures: the sandbox as graph.facebook.com, the proxy to it, and a new customer for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests.third_party.tunnel import Tunnel
from contract_tests.third_party.world import Platform, World
from contract_tests.waiting import free_port
from sandbox_harness import Receiver, Sandbox


@pytest.fixture(scope="package")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """One sandbox for all clients. Each test signs up its own customer."""
    port, receiver = free_port(), Receiver()
    folder: Path = tmp_path_factory.mktemp("third_party")
    sandbox = Sandbox(folder / "var", receiver.url, {"SANDBOX_TLS_PORT": str(port)})
    tunnel = Tunnel(port)
    yield Platform(sandbox, receiver, tunnel)
    tunnel.close()
    sandbox.close()
    receiver.close()


@pytest.fixture
def world(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> World:
    """A customer, and the environment in which a client reaches the sandbox."""
    for name in (
        "https_proxy",
        "http_proxy",
        "HTTP_PROXY",
        "all_proxy",
        "ALL_PROXY",
        "no_proxy",
        "NO_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    for name, value in platform.environment.items():
        monkeypatch.setenv(name, value)
    business = platform.sandbox.sign_up()
    # The harness calls the sandbox itself, without a proxy.
    assert business.register("123456").ok
    assert business.graph("POST", f"{business.waba_id}/subscribed_apps").ok
    return World(platform, business)
