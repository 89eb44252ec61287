"""The worker's metrics: a client that sends nothing holds no thread."""

import socket

import pytest

from contract_tests.waiting import WAIT_SECONDS, free_port
from gateway import worker


def test_a_silent_client_of_the_metrics_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker._MetricsHandler, "timeout", 0.1)
    port = free_port()
    worker._serve_metrics(f"127.0.0.1:{port}")
    with socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) as client:
        assert client.recv(1) == b""
    with socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert client.recv(15) == b"HTTP/1.0 200 OK"
