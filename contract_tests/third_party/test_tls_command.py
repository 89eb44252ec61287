"""``gateway sandbox --tls-port``, called as docs/sandbox.md shows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from contract_tests.third_party.tunnel import Tunnel
from contract_tests.waiting import WAIT_SECONDS, free_port


def test_the_command_serves_the_platforms_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, tls_port = free_port(), free_port()
    told = {"GATEWAY_DATA_DIR": str(tmp_path / "var"), "GATEWAY_SANDBOX_PORT": str(port)}
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("GATEWAY_", "SANDBOX_"))}
    command = [sys.executable, "-m", "gateway", "sandbox", "--tls-port", str(tls_port)]
    with subprocess.Popen(
        command, env=inherited | told, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert f"127.0.0.1:{port}" in process.stdout.readline()
        assert "callbacks to" in process.stdout.readline()
        said = process.stdout.readline()
        trusted = tmp_path / "var" / "tls" / "ca.pem"
        assert f"port {tls_port}" in said
        assert said.rstrip().endswith(str(trusted.resolve()))
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(trusted))
        tunnel = Tunnel(tls_port)
        try:
            answer = requests.get(
                "https://graph.facebook.com/v25.0/me",
                proxies={"https": tunnel.url},
                timeout=WAIT_SECONDS,
            )
        finally:
            tunnel.close()
            process.terminate()
    assert answer.json()["error"]["code"] == 0
    assert process.returncode == 0
