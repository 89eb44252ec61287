"""Errors of this machine are raised, and are no result of the receiver."""

import asyncio
import errno
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import aiohappyeyeballs
import pytest
import uvloop
from aiohappyeyeballs import AddrInfoType

from tests.receiver import Receiver
from tests.webhooks.authority import Authority, TlsReceiver
from tests.webhooks.name_server import REFUSED, SERVER_FAILURE, NameServer
from tests.webhooks.posting import BODY, make_client, no_response, post, post_one
from webhooks import faults
from webhooks.address import UNRESOLVED
from webhooks.connecting import system_trust
from webhooks.faults import MachineError
from webhooks.reasons import COULD_NOT_CONNECT

OURS = {
    errno.EMFILE: faults.DESCRIPTORS,
    errno.ENFILE: faults.DESCRIPTORS,
    errno.ENOMEM: faults.MEMORY,
    errno.ENOBUFS: faults.MEMORY,
    errno.EADDRNOTAVAIL: faults.PORTS,
    errno.ENETDOWN: faults.NETWORK,
    errno.EPERM: faults.FIREWALL,
    errno.EACCES: faults.FIREWALL,
}
THEIRS = (errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.EINVAL)
ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EINVAL)
TEN = "http://127.0.0.1:9/"


def _fail(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    async def connect(*_: object, **__: object) -> socket.socket:
        raise error

    monkeypatch.setattr("aiohappyeyeballs.start_connection", connect)


def _route(monkeypatch: pytest.MonkeyPatch, *families: int) -> None:
    monkeypatch.setattr("webhooks.connecting._reaches", lambda family: family in families)


def _cause(url: str = TEN, **options: object) -> str:
    with pytest.raises(MachineError) as raised:
        post_one(url, **options)
    return raised.value.cause


@pytest.mark.parametrize("number", OURS, ids=errno.errorcode.get)
def test_an_error_of_this_machine_is_raised(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    _fail(monkeypatch, OSError(number, os.strerror(number)))
    assert _cause() == OURS[number]


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (MemoryError(), faults.MEMORY),
        (RuntimeError("can't start new thread"), faults.THREADS),
    ],
    ids=["memory", "threads"],
)
def test_other_errors_of_this_machine_are_raised(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, cause: str
) -> None:
    _fail(monkeypatch, error)
    assert _cause() == cause


@pytest.mark.parametrize("number", THEIRS, ids=errno.errorcode.get)
def test_an_error_of_the_receiver_is_a_result(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    _route(monkeypatch, socket.AF_INET)
    _fail(monkeypatch, OSError(number, os.strerror(number)))
    assert post_one(TEN).error == no_response(COULD_NOT_CONNECT)


@pytest.mark.parametrize("number", ROUTE, ids=errno.errorcode.get)
def test_a_machine_without_a_route_is_to_blame(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    _route(monkeypatch, socket.AF_INET6)
    _fail(monkeypatch, OSError(number, os.strerror(number)))
    assert _cause() == faults.NETWORK


@pytest.mark.parametrize("number", [*ROUTE, errno.EADDRNOTAVAIL], ids=errno.errorcode.get)
def test_a_host_with_ipv6_only_is_to_blame_if_the_machine_has_a_route_for_ipv4(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    _fail(monkeypatch, OSError(number, os.strerror(number)))
    _route(monkeypatch, socket.AF_INET)
    assert post_one("http://[::1]:9/").error == no_response(COULD_NOT_CONNECT)
    _route(monkeypatch)
    assert _cause("http://[::1]:9/") == faults.NETWORK


def _fail_at(monkeypatch: pytest.MonkeyPatch, host: str, number: int) -> None:
    """Connections to one host fail. All others lead to loopback."""
    connect = aiohappyeyeballs.start_connection

    async def choose(addresses: list[AddrInfoType], **options: Any) -> socket.socket:
        if addresses[0][4][0] == host:
            raise OSError(number, os.strerror(number))
        return await connect(addresses, **options)

    monkeypatch.setattr("aiohappyeyeballs.start_connection", choose)


@pytest.mark.parametrize("number", [errno.EPERM, errno.EACCES], ids=errno.errorcode.get)
def test_one_forbidden_destination_is_a_result_once_another_was_reached(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver, number: int
) -> None:
    _fail_at(monkeypatch, "127.0.0.2", number)
    forbidden = "http://127.0.0.2:9/"
    # Another origin, because a kept connection shows nothing.
    another = receiver.url().replace("127.0.0.1", "localhost")

    async def run() -> None:
        async with make_client() as client:
            assert (await client.post(receiver.url(), BODY, {})).success
            for _ in range(2):
                # A firewall that was started meanwhile may forbid all.
                with pytest.raises(MachineError):
                    await client.post(forbidden, BODY, {})
            assert (await client.post(another, BODY, {})).success
            for _ in range(2):
                answer = await client.post(forbidden, BODY, {})
                assert answer.error == no_response(COULD_NOT_CONNECT)
            _fail_at(monkeypatch, "127.0.0.3", number)
            with pytest.raises(MachineError):
                await client.post("http://127.0.0.3:9/", BODY, {})

    uvloop.run(run())


def test_a_destination_that_a_route_forbids_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    _fail_at(monkeypatch, "127.0.0.2", errno.EACCES)
    monkeypatch.setattr("webhooks.connecting._is_forbidden_by_route", lambda _: True)
    _route(monkeypatch, socket.AF_INET)
    assert post_one("http://127.0.0.2:9/").error == no_response(COULD_NOT_CONNECT)
    _route(monkeypatch)
    assert _cause("http://127.0.0.2:9/") == faults.FIREWALL


def test_a_machine_with_ipv6_only_blames_no_receivers_with_ipv4_for_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _fail_at(monkeypatch, "127.0.0.2", errno.ENETUNREACH)
    _route(monkeypatch, socket.AF_INET6)
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        url = f"http://[::1]:{listener.getsockname()[1]}/"
        answers = post(url, "http://127.0.0.2:9/", timeout=0.2)
    assert [answer.error for answer in answers][1] == no_response(COULD_NOT_CONNECT)
    assert _cause("http://127.0.0.2:9/") == faults.NETWORK, "nothing was reached"


def test_a_route_that_went_during_an_exchange_is_no_timeout_of_the_receiver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def connect(*_: object, **__: object) -> socket.socket:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr("aiohappyeyeballs.start_connection", connect)
    options = {"timeout": 0.1, "allow_local": False}
    _route(monkeypatch, socket.AF_INET)
    assert post_one("https://8.8.8.8/", **options).timed_out
    _route(monkeypatch)
    assert _cause("https://8.8.8.8/", **options) == faults.NETWORK
    assert post_one(TEN, timeout=0.1).timed_out, "loopback needs no route"


@contextmanager
def _no_descriptors() -> Iterator[None]:
    """A limit that the open descriptors exceed already. They stay open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_process_without_descriptors_blames_no_receiver(receiver: Receiver) -> None:
    async def run() -> bool:
        async with make_client() as client:
            with _no_descriptors(), pytest.raises(MachineError) as raised:
                await client.post(receiver.url(), BODY, {})
            assert raised.value.cause == faults.DESCRIPTORS
            return (await client.post(receiver.url(), BODY, {})).success

    assert uvloop.run(run())


def test_a_name_server_that_is_not_there_blames_no_receiver() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{unused.getsockname()[1]}"
    assert _cause("http://hook.example/", nameservers=[closed]) == faults.RESOLVER


def test_name_servers_that_answer_nobody_blame_no_receiver(
    name_server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhooks.resolver.PROBE_SECONDS", 0.2)
    for name in ("hook.example", ""):
        name_server.mute(name)
    nameservers = [name_server.address]
    cause = _cause("http://hook.example/", nameservers=nameservers, timeout=0.3)
    assert cause == faults.RESOLVER


def test_a_name_that_hangs_alone_is_a_result(name_server: NameServer) -> None:
    name_server.mute("hook.example")
    url = "http://hook.example/"
    assert post_one(url, nameservers=[name_server.address], timeout=0.3).timed_out


@pytest.mark.parametrize("code", [SERVER_FAILURE, REFUSED], ids=["servfail", "refused"])
def test_name_servers_that_refuse_every_name_blame_no_receiver(
    name_server: NameServer, code: int
) -> None:
    name_server.refused = code
    assert _cause("http://hook.example/", nameservers=[name_server.address]) == faults.RESOLVER


@pytest.mark.parametrize("code", [SERVER_FAILURE, REFUSED], ids=["servfail", "refused"])
@pytest.mark.parametrize(
    "refused", [["hook.example"], ["hook.example", ""]], ids=["alone", "with the root"]
)
def test_a_name_that_is_refused_alone_is_a_result(
    name_server: NameServer, code: int, refused: list[str]
) -> None:
    name_server.refusals = dict.fromkeys(refused, code)
    error = post_one("http://hook.example/", nameservers=[name_server.address]).error
    assert error == no_response(UNRESOLVED.format("hook.example"))


def test_a_name_server_that_knows_some_names_only_is_no_missing_one(
    name_server: NameServer,
) -> None:
    name_server.refused = REFUSED
    name_server.know("known.example", ["127.0.0.1"])
    urls = ["http://known.example:9/", "http://hook.example/"]
    [_, refused] = post(*urls, nameservers=[name_server.address])
    assert 'hook.example" does not resolve' in str(refused.error)


def test_remembered_answers_prove_no_name_server(name_server: NameServer) -> None:
    """The library remembers answers for their time to live."""
    name_server.ttl = 300
    name_server.know("known.example", ["127.0.0.1"])

    async def run() -> None:
        async with make_client(nameservers=[name_server.address]) as client:
            await client.post("http://known.example:9/", BODY, {})
            name_server.refusals = dict.fromkeys(["known.example"], SERVER_FAILURE)
            name_server.refused = SERVER_FAILURE
            answer = await client.post("http://known.example:9/", BODY, {})
            assert answer.error == no_response(COULD_NOT_CONNECT), "it is remembered"
            with pytest.raises(MachineError):
                await client.post("http://hook.example/", BODY, {})

    uvloop.run(run())


def test_missing_certificate_authorities_blame_no_receiver(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    system_trust.cache_clear()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    (tmp_path / "README").write_text("No certificate.")
    (tmp_path / "damaged.pem").write_text("No certificate either.")
    with closing(TlsReceiver(authority.server_context("localhost"))) as receiver:
        url = receiver.url(host="localhost")
        assert _cause(url) == faults.TRUST
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "damaged.pem"))
        assert _cause(url) == faults.TRUST
        assert post_one("http://127.0.0.1:1/").error, "what needs none is the receiver's failure"
        # They are read again as soon as they are there.
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.bundle()))
        assert post_one(url).success
    system_trust.cache_clear()
