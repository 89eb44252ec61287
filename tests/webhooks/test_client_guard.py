"""What the client refuses to call, and whom it does not believe (decision 19 of the design)."""

import asyncio
import datetime as dt
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.receiver import Receiver
from webhooks.client import Answer, WebhookClient


def _post(url: str, *, allow_local: bool = False) -> Answer:
    async def run() -> Answer:
        client = WebhookClient(timeout=5, allow_local=allow_local, user_agent="Gateway/1")
        async with client:
            return await client.post(url, b"{}", {})

    return asyncio.run(run())


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "0x7f000001",
        "127.1",
        "0",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
    ],
)
def test_no_spelling_of_a_local_address_is_called(receiver: Receiver, host: str) -> None:
    answered = _post(f"http://{host}:{receiver.port}/hook")
    assert (answered.success, answered.status_code) == (False, None)
    assert receiver.at() == []


def test_the_error_says_which_address_was_refused(receiver: Receiver) -> None:
    assert _post(receiver.url()).error == (
        "No answer: The host 127.0.0.1 has the address 127.0.0.1, which is not public."
    )


def test_a_name_that_became_local_after_its_registration_is_not_called(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rebinding: the check when a webhook is made does not vouch for later attempts."""
    local = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", receiver.port))]
    asked: list[str] = []

    def resolve(host: str, *_: Any, **__: Any) -> Any:
        asked.append(host)
        return local

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    answered = _post(f"http://hook.example:{receiver.port}/hook")
    assert answered.error is not None
    assert "hook.example has the address 127.0.0.1, which is not public" in answered.error
    assert receiver.at() == []
    assert asked == ["hook.example"]


def test_the_address_that_was_checked_is_the_one_that_is_called(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second look-up could give another address, so there is none."""
    asked: list[str] = []

    def resolve(host: str, *_: Any, **__: Any) -> Any:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", receiver.port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr("webhooks.address.is_public", lambda _: True)
    assert _post(f"http://hook.example:{receiver.port}/hook").success
    assert asked == ["hook.example"]


def _certificate(folder: Path) -> ssl.SSLContext:
    """A server's context with a certificate that nobody but itself vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def test_a_certificate_that_nobody_vouches_for_is_not_accepted(tmp_path: Path) -> None:
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                try:
                    secure = _certificate(tmp_path).wrap_socket(connection, server_side=True)
                    received.append(secure.recv(1024))
                except OSError:
                    return

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"https://localhost:{server.getsockname()[1]}/hook"
        answered = _post(url, allow_local=True)
        thread.join()
    assert answered.error == "No answer: the TLS certificate was not accepted."
    assert received == []
