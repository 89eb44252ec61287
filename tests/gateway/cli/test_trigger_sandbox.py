"""How ``gateway trigger`` reaches the sandbox."""

import pytest

from contract_tests.harness import free_port
from gateway.cli.trigger import call_sandbox
from tests.gateway.cli.fake_stream import gateway


def test_a_local_sandbox_is_reached_without_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    with gateway(lambda each: each.answer(200, {"numbers": []})) as fake:
        assert call_sandbox(fake.url.removesuffix("/api"), "state") == {"numbers": []}
