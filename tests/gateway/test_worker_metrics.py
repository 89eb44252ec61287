"""The worker's metrics: a client that sends nothing holds no thread."""

import socket
from urllib.request import urlopen

import pytest

from contract_tests.waiting import WAIT_SECONDS, free_port
from gateway import worker
from gateway.settings import SettingsError
from tests.conftest import Configure


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_the_metrics_are_served_at_the_address_in_the_setting(
    configure: Configure, host: str
) -> None:
    settings = configure(WORKER_METRICS_AT=f"{host}:{free_port()}")
    worker._serve_metrics(settings.worker_metrics_at)
    with urlopen(f"http://{settings.worker_metrics_at}/metrics", timeout=WAIT_SECONDS) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("at", ["::1:9091", "[::1]", "[::1:9091", "[localhost]:9091", "[]:9091"])
def test_an_address_without_host_or_port_is_refused(configure: Configure, at: str) -> None:
    with pytest.raises(SettingsError):
        configure(WORKER_METRICS_AT=at)


def test_a_silent_client_of_the_metrics_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker._MetricsHandler, "timeout", 0.1)
    port = free_port()
    worker._serve_metrics(f"127.0.0.1:{port}")
    with socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) as client:
        assert client.recv(1) == b""
    with socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert client.recv(15) == b"HTTP/1.0 200 OK"
