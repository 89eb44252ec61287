"""Verification of certificates: real receivers with certificates of a test CA."""

import datetime as dt
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from contract_tests.waiting import free_port
from tests.receiver import Receiver
from tests.webhooks.authority import Authority, TlsReceiver
from tests.webhooks.listener import Listener
from tests.webhooks.name_server import NameServer
from tests.webhooks.posting import no_response, post_one
from webhooks.client import Answer
from webhooks.connecting import system_trust
from webhooks.reasons import (
    COULD_NOT_CONNECT,
    EXPIRED,
    NOT_YET_VALID,
    OTHER_HOST,
    SELF_SIGNED,
    UNKNOWN_AUTHORITY,
)

HOST = "hook.example"
Deliver = Callable[[TlsReceiver], Answer]


@pytest.fixture
def deliver(authority: Authority, name_server: NameServer) -> Deliver:
    """Post to a receiver by its name, trusting the authority of the test."""
    name_server.know(HOST, ["127.0.0.1"])

    def post_to(receiver: TlsReceiver) -> Answer:
        context = authority.client_context()
        return post_one(receiver.url(), ssl_context=context, nameservers=[name_server.address])

    return post_to


def test_a_certificate_for_the_host_from_a_trusted_ca_is_accepted(
    authority: Authority, deliver: Deliver
) -> None:
    with closing(TlsReceiver(authority.server_context(HOST))) as receiver:
        answered = deliver(receiver)
        [request] = receiver.at()
    assert (answered.success, answered.body) == (True, "ok")
    assert request.body


def test_the_tls_handshake_uses_the_receivers_name_and_not_its_address(
    authority: Authority, deliver: Deliver
) -> None:
    with closing(TlsReceiver(authority.server_context(HOST))) as receiver:
        deliver(receiver)
        assert receiver.asked_for == [HOST]
        assert receiver.at()[0].headers["host"] == f"{HOST}:{receiver.port}"


@pytest.mark.parametrize(("address", "host"), [("::1", "[::1]"), ("127.0.0.1", "127.0.0.1")])
def test_the_certificate_of_an_address_is_checked_against_it_without_sni(
    authority: Authority, address: str, host: str
) -> None:
    with closing(TlsReceiver(authority.server_context(address), address)) as receiver:
        answered = post_one(receiver.url(host=host), ssl_context=authority.client_context())
        [request] = receiver.at()
    assert answered.success
    assert receiver.asked_for == [None]
    assert request.headers["host"] == f"{host}:{receiver.port}"
    assert request.peer[0] == address


@pytest.mark.parametrize("other", ["localhost", "127.0.0.1", "::2"])
def test_a_certificate_for_another_name_or_address_is_refused_at_an_ipv6_address(
    authority: Authority, other: str
) -> None:
    with closing(TlsReceiver(authority.server_context(other), "::1")) as receiver:
        answered = post_one(receiver.url(host="[::1]"), ssl_context=authority.client_context())
        assert (answered.error, receiver.at()) == (no_response(OTHER_HOST), [])


def _of_another_host(authority: Authority, _: Path) -> ssl.SSLContext:
    return authority.server_context("other.example")


def _of_a_parent(authority: Authority, _: Path) -> ssl.SSLContext:
    return authority.server_context("example")


def _expired(authority: Authority, _: Path) -> ssl.SSLContext:
    return authority.server_context(HOST, ends_in=-dt.timedelta(hours=1))


def _not_yet_valid(authority: Authority, _: Path) -> ssl.SSLContext:
    return authority.server_context(HOST, begins_in=dt.timedelta(hours=1))


def _self_signed(authority: Authority, _: Path) -> ssl.SSLContext:
    return authority.server_context(HOST, self_signed=True)


def _of_an_unknown_ca(_: Authority, folder: Path) -> ssl.SSLContext:
    return Authority(folder).server_context(HOST)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (_of_another_host, OTHER_HOST),
        (_of_a_parent, OTHER_HOST),
        (_expired, EXPIRED),
        (_not_yet_valid, NOT_YET_VALID),
        (_self_signed, SELF_SIGNED),
        (_of_an_unknown_ca, UNKNOWN_AUTHORITY),
    ],
)
def test_a_certificate_that_proves_nothing_is_refused_before_anything_is_sent(
    bad: Callable[[Authority, Path], ssl.SSLContext],
    reason: str,
    authority: Authority,
    deliver: Deliver,
    tmp_path: Path,
) -> None:
    with closing(TlsReceiver(bad(authority, tmp_path))) as receiver:
        answered = deliver(receiver)
        assert (answered.error, answered.status_code) == (no_response(reason), None)
        assert receiver.at() == []


@pytest.fixture
def fresh_trust() -> Iterator[None]:
    """The system's certificates are read again, here and for the next test."""
    system_trust.cache_clear()
    yield
    system_trust.cache_clear()


@pytest.mark.usefixtures("fresh_trust")
def test_a_client_without_the_test_ca_refuses_its_certificates(
    authority: Authority, name_server: NameServer
) -> None:
    name_server.know(HOST, ["127.0.0.1"])
    with closing(TlsReceiver(authority.server_context(HOST))) as receiver:
        answered = post_one(receiver.url(), nameservers=[name_server.address])
        assert (answered.error, receiver.at()) == (no_response(UNKNOWN_AUTHORITY), [])


@pytest.mark.usefixtures("fresh_trust")
def test_session_keys_are_written_nowhere(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "keys.log"
    monkeypatch.setenv("SSLKEYLOGFILE", str(log))
    with closing(TlsReceiver(authority.server_context("localhost"))) as receiver:
        post_one(receiver.url(host="localhost"))
        assert receiver.asked_for == ["localhost"]
    assert not log.exists()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
def test_versions_before_tls_1_2_are_not_spoken(
    authority: Authority,
) -> None:
    context = authority.server_context("localhost")
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with closing(TlsReceiver(context)) as receiver:
        answered = post_one(receiver.url(host="localhost"))
        assert answered.error == no_response(COULD_NOT_CONNECT)
        assert receiver.at() == []
    assert system_trust().minimum_version == ssl.TLSVersion.TLSv1_2


def test_tls_1_2_is_spoken(authority: Authority, deliver: Deliver) -> None:
    context = authority.server_context(HOST)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with closing(TlsReceiver(context)) as receiver:
        assert deliver(receiver).success


def test_a_port_without_tls_gives_the_error_of_a_closed_port(receiver: Receiver) -> None:
    """No firewall protects the machine's own public address."""
    for port in (receiver.port, free_port()):
        answered = post_one(f"https://127.0.0.1:{port}/hook")
        assert answered.error == no_response(COULD_NOT_CONNECT)
    assert receiver.at() == []


def test_a_handshake_that_never_ends_is_cut_off(listener: Listener) -> None:
    answered = post_one(f"https://127.0.0.1:{listener.port}/hook", timeout=0.3)
    assert (answered.status_code, answered.timed_out) == (None, True)
    assert listener.was_called()
