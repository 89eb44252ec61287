"""The spans of a message at a trace collector, from its request to its delivery."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from contract_tests.collector import Collector, Shown, collecting
from contract_tests.harness import ROOT, Customer, Gateway, Receiver, running
from contract_tests.parts import seconds_to_end

TO = "15557770124"
TEXT = "zanzibar-traced"
ERRAND = "errand-4712"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
# A send takes some 50 ms. One that waited for its collector would take the exporter's 10 s.
PROMPT = 3.0
STOP_SECONDS = 5


@dataclass
class Run:
    """A message that was sent and delivered, and its spans."""

    gateway: Gateway
    customer: Customer
    collector: Collector
    message_id: str
    webhook_id: str
    delivery_id: str
    secrets: dict[str, str] = field(default_factory=dict)

    def request(self) -> Shown:
        """The span of the request."""
        return self.collector.wait("POST /api/messages/send", gateway__request_id=ERRAND)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Send a message whose event goes to a webhook with a secret in its address."""
    receiver = Receiver()
    folder: Path = tmp_path_factory.mktemp("traces")
    with collecting() as collector, running(folder, **collector.settings()) as gateway:
        customer = gateway.customer()
        url = receiver.url("/hidden-hook?token=quagga")
        body = {"url": url, "events": ["message.sent", "message.delivered"]}
        webhook = customer.request("POST", "/webhooks", json=body).json()
        sent = _send(customer)
        came = receiver.wait("/hidden-hook?token=quagga", 2)
        delivery_id = next(
            r.headers["x-service-delivery"] for r in came if r.event["event"] == "message.sent"
        )
        yield Run(
            gateway,
            customer,
            collector,
            sent.json()["id"],
            webhook["id"],
            delivery_id,
            _secrets(customer, webhook["secret"]),
        )
    receiver.close()


def _send(customer: Customer) -> requests.Response:
    answer = customer.request(
        "POST",
        "/messages/send",
        json={
            "number_id": customer.number["id"],
            "to": TO,
            "type": "text",
            "text": {"body": TEXT},
        },
        headers={
            "X-Request-Id": ERRAND,
            "Idempotency-Key": "idem-quagga",
            "traceparent": f"00-{TRACE}-{PARENT}-01",
            "tracestate": "vendor=quagga-state",
        },
    )
    assert answer.status_code == 200
    return answer


def _secrets(customer: Customer, secret: str) -> dict[str, str]:
    return {
        "key": customer.key,
        "webhook secret": secret,
        "app secret": "sandbox-app-secret",
        "recipient": TO,
        "own number": str(customer.number["phoneNumber"]),
        "text": TEXT,
        "path of the webhook": "hidden-hook",
        "query of the webhook": "quagga",
        "the network's identifier, which contains the number": "wamid.",
    }


def test_a_request_is_a_span_with_its_route_in_the_clients_trace(run: Run) -> None:
    request = run.request()
    assert (request.service, request.kind, request.failed) == ("gateway-web", "server", False)
    assert (request.trace, request.parent) == (TRACE, PARENT)
    assert request.attributes == {
        "http.request.method": "POST",
        "http.route": "/api/messages/send",
        "http.response.status_code": 200,
        "gateway.request_id": ERRAND,
        "gateway.account_id": run.customer.account_id,
        "gateway.message_id": run.message_id,
    }


def test_the_call_to_the_network_is_a_span_below_its_request(run: Run) -> None:
    call = run.collector.wait("send to network", gateway__message_id=run.message_id)
    assert (call.trace, call.parent, call.kind) == (TRACE, run.request().id, "client")


def test_an_attempt_is_a_span_that_names_the_message_it_is_about(run: Run) -> None:
    attempt = run.collector.wait("deliver event", gateway__delivery_id=run.delivery_id)
    assert (attempt.service, attempt.kind, attempt.failed) == ("gateway-worker", "client", False)
    assert attempt.attributes.pop("gateway.event_id").startswith("evt_")
    assert attempt.attributes == {
        "gateway.delivery_id": run.delivery_id,
        "gateway.webhook_id": run.webhook_id,
        "gateway.account_id": run.customer.account_id,
        "gateway.event_kind": "message.sent",
        "gateway.subject_id": run.message_id,
        "gateway.attempt": 1,
        "gateway.outcome": "success",
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "server.address": "127.0.0.1",
    }


def test_receiving_and_ingesting_a_callback_are_spans(run: Run) -> None:
    run.collector.wait("POST /network/callback", http__response__status_code=200)
    ingested = run.collector.wait("ingest callback", gateway__items=1)
    assert (ingested.service, ingested.kind) == ("gateway-web", "consumer")


def test_an_unknown_path_is_not_in_the_spans(run: Run) -> None:
    assert requests.get(f"{run.gateway.url}/zebra/{TO}", timeout=9).status_code == 404
    missing = run.collector.wait("GET *", http__response__status_code=404)
    assert missing.attributes["http.route"] == "*"


def test_no_span_holds_a_key_secret_number_or_text(run: Run) -> None:
    run.request()
    run.collector.wait("deliver event", gateway__event_kind="message.delivered")
    sent = b"".join(run.collector.bodies)
    assert [what for what, secret in run.secrets.items() if secret.encode() in sent] == []


def test_the_last_spans_are_sent_when_the_service_stops(tmp_path: Path, receiver: Receiver) -> None:
    with collecting() as collector:
        # With its own schedule, it would send nothing within the hour.
        slow = collector.settings() | {"OTEL_BSP_SCHEDULE_DELAY": "3600000"}
        with running(tmp_path, **slow) as gateway:
            customer = gateway.customer()
            body = {"url": receiver.url(), "events": ["message.sent"]}
            assert customer.request("POST", "/webhooks", json=body).status_code == 201
            assert customer.send(TO).status_code == 200
            receiver.wait_kind("message.sent")
        assert collector.spans("POST /api/messages/send")
        assert collector.spans("deliver event")


def test_a_silent_collector_delays_neither_sends_nor_the_stop(
    tmp_path: Path, receiver: Receiver
) -> None:
    # A server that accepts connections and never answers.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "50"}
        with running(tmp_path, **settings) as gateway:
            customer = gateway.customer()
            body = {"url": receiver.url(), "events": ["message.sent"]}
            assert customer.request("POST", "/webhooks", json=body).status_code == 201
            for _ in range(3):
                began = time.monotonic()
                assert customer.send(TO).status_code == 200
                assert time.monotonic() - began < PROMPT
            receiver.wait(count=3)
            assert gateway.process is not None
            assert seconds_to_end(gateway.process) < STOP_SECONDS


def _python(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_no_tracing_module_is_imported_without_a_collector() -> None:
    # The API is always there, and redis-py imports the SDK's metrics if they are installed.
    done = _python(
        "import sys\n"
        "from gateway import worker\n"
        "from gateway.api import app\n"
        "from gateway.ops import tracing\n"
        "tracing.start('web')\n"
        "traces = ('opentelemetry.exporter', 'opentelemetry.sdk.trace')\n"
        "print([name for name in sys.modules if name.startswith(traces)])\n",
        OTEL_EXPORTER_OTLP_ENDPOINT="",
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("command", ["up", "web", "worker"])
def test_a_start_without_the_extra_names_the_package_to_install(
    command: str, tmp_path: Path
) -> None:
    done = _python(
        "import sys\n"
        # What the import system finds if the extra is not installed.
        "sys.modules['opentelemetry.exporter'] = sys.modules['opentelemetry.sdk'] = None\n"
        f"sys.argv = ['gateway', '{command}']\n"
        "from gateway.cli import main\n"
        "main()\n",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318",
        GATEWAY_DATA_DIR=str(tmp_path),
    )
    assert done.returncode == 1
    assert done.stderr == (
        "Error: OTEL_EXPORTER_OTLP_ENDPOINT is set, but traces need the extra: "
        "pip install 'messaging-gateway[otel]'\n"
    )
