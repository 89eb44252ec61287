"""TLS as graph.facebook.com, with an authority of the data directory."""

import socket
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.authority import certificate_of, server_context
from sandbox_harness import PATIENCE, Receiver, Sandbox, run_sandbox

HOST = "graph.facebook.com"


@pytest.fixture
def served(tmp_path: Path, receiver: Receiver) -> Iterator[tuple[Sandbox, int]]:
    """A sandbox with TLS, and the port."""
    sandbox = Sandbox(tmp_path / "var", receiver.url, {"SANDBOX_TLS_PORT": "0"})
    yield sandbox, int(sandbox.said.partition(", port ")[2].partition(",")[0])
    sandbox.close()


def asked(
    port: int, trusted: Path, name: str = HOST, host: str = HOST, path: str = "/v25.0/1"
) -> bytes:
    """The answer to a GET over TLS from a client that looks closely."""
    context = ssl.create_default_context(cafile=trusted)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with (
        socket.create_connection(("127.0.0.1", port), PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname=name) as secure,
    ):
        secure.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        return b"".join(iter(lambda: secure.recv(65536), b""))


def test_the_platforms_host_is_served_to_who_trusts_the_authority(
    served: tuple[Sandbox, int],
) -> None:
    sandbox, port = served
    trusted = certificate_of(sandbox.data_dir)
    assert asked(port, trusted).startswith(b"HTTP/1.0 401 ")
    with pytest.raises(ssl.SSLCertVerificationError):
        asked(port, trusted, name="www.facebook.com")


def test_other_hosts_and_control_paths_are_refused_as_that_host(
    served: tuple[Sandbox, int],
) -> None:
    sandbox, port = served
    trusted = certificate_of(sandbox.data_dir)
    assert asked(port, trusted, host="www.example.com").startswith(b"HTTP/1.0 403 ")
    assert asked(port, trusted, path="/_sandbox/state").startswith(b"HTTP/1.0 403 ")
    plain = sandbox.call("GET", "/v25.0/1", headers={"Host": HOST})
    assert plain.status_code == 403


def test_the_authority_stays_and_its_key_is_private(tmp_path: Path) -> None:
    server_context(tmp_path)
    first = certificate_of(tmp_path).read_bytes()
    server_context(tmp_path)
    assert certificate_of(tmp_path).read_bytes() == first
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "tls").iterdir()}
    assert modes == {"ca.key": 0o600, "ca.pem": 0o644, "server.pem": 0o600}


def test_files_that_are_no_certificates_keep_it_from_starting(tmp_path: Path) -> None:
    server_context(tmp_path)
    certificate_of(tmp_path).write_text("nonsense")
    process = run_sandbox(SANDBOX_DATA_DIR=str(tmp_path), SANDBOX_TLS_PORT="0")
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert "SANDBOX_DATA_DIR/tls" in said
