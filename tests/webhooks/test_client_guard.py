"""Addresses that the client refuses to call."""

import re
from collections.abc import Callable
from contextlib import closing

import pytest

from contract_tests.waiting import free_port
from tests.receiver import Receiver
from tests.webhooks.authority import Authority, TlsReceiver
from tests.webhooks.listener import Listener
from tests.webhooks.name_server import NameServer
from tests.webhooks.posting import no_response, post, post_one
from webhooks.address import HTTPS_ONLY, NO_CREDENTIALS, NOT_PUBLIC, UNRESOLVED, check_url
from webhooks.client import Answer
from webhooks.reasons import OTHER_HOST

HOST = "hook.example"
PUBLIC = "93.184.216.34"
NOT_RESOLVED = no_response(UNRESOLVED)
LOCAL = no_response(NOT_PUBLIC)
LOCAL_HOSTS = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "0"),  # noqa: S104 - addresses to refuse
    *("2130706433", "0177.0.0.1", "0177.0.0.01", "017700000001", "0x7f.0.0.1", "0x7f000001"),
    *("127.1", "127.0.1", "0x7f.1", "127.0.0.1.", "127.1.", "%31%32%37.0.0.1"),
    *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]"),
    *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[0:0:0:0:0:0:0:1]"),
    *("localhost", "LOCALHOST", "localhost.localdomain.localhost", "hook.localhost"),
]


@pytest.fixture
def post_to(name_server: NameServer) -> Callable[[str], Answer]:
    """Post with the rules of production, using the test's name server."""

    def post_by_name(url: str) -> Answer:
        return post_one(url, allow_local=False, nameservers=[name_server.address])

    return post_by_name


@pytest.mark.parametrize("host", LOCAL_HOSTS)
def test_no_spelling_of_a_local_address_is_called(
    listener: Listener, post_to: Callable[[str], Answer], host: str
) -> None:
    answered = post_to(f"https://{host}:{listener.port}/hook")
    texts = (LOCAL.format(".+", ".+"), NOT_RESOLVED.format(".+"))
    assert re.fullmatch("|".join(texts), str(answered.error))
    assert not listener.was_called()


@pytest.mark.parametrize("port", [0, 1, 80, 443, 65535])
def test_a_local_address_is_refused_on_every_port(
    post_to: Callable[[str], Answer], port: int
) -> None:
    answered = post_to(f"https://127.0.0.1:{port}/hook")
    assert answered.error == LOCAL.format("127.0.0.1", "127.0.0.1")


def test_without_tls_nothing_is_sent_to_the_internet(
    listener: Listener, name_server: NameServer, post_to: Callable[[str], Answer]
) -> None:
    """A webhook may date from a time when http was allowed."""
    name_server.know(HOST, ["127.0.0.1"])
    answered = post_to(f"http://{HOST}:{listener.port}/hook")
    assert answered.error == no_response(HTTPS_ONLY)
    assert (name_server.asked, listener.was_called()) == ([], False)


def test_credentials_in_the_address_are_not_sent(receiver: Receiver) -> None:
    url = receiver.url().replace("//", "//someone:secret@")
    answered = post_one(url)
    assert answered.error == no_response(NO_CREDENTIALS)
    assert receiver.at() == []


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["::1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["100.64.0.1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["fe80::1"],
        [PUBLIC, "127.0.0.1"],
        ["127.0.0.1", PUBLIC],
        [PUBLIC, "::1"],
        ["2606:4700:4700::1111", "10.0.0.1"],
    ],
    ids=" and ".join,
)
def test_a_name_with_one_bad_address_is_not_called_at_any(
    listener: Listener,
    name_server: NameServer,
    post_to: Callable[[str], Answer],
    addresses: list[str],
) -> None:
    name_server.know(HOST, addresses)
    # The error is the same as for a name that does not exist.
    for host in (HOST, "nothing.example"):
        answered = post_to(f"https://{host}:{listener.port}/hook")
        assert answered.error == NOT_RESOLVED.format(host)
    assert not listener.was_called()


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "192.168.0.1", "169.254.169.254", "fd00::1", "fe80::1", "0.0.0.0"],  # noqa: S104
)
def test_with_the_sandbox_no_other_local_address_is_called(
    name_server: NameServer, address: str
) -> None:
    name_server.know(HOST, [address])
    name_server.know("half.example", ["127.0.0.1", address])
    written = f"[{address}]" if ":" in address else address
    named, half, seen = post(
        f"http://{HOST}/",
        "http://half.example/",
        f"http://{written}/",
        nameservers=[name_server.address],
    )
    assert (named.error, half.error) == (
        NOT_RESOLVED.format(HOST),
        NOT_RESOLVED.format("half.example"),
    )
    assert seen.error == LOCAL.format(address, address)


def test_a_name_that_became_local_after_its_registration_is_not_called(
    listener: Listener, name_server: NameServer, post_to: Callable[[str], Answer]
) -> None:
    """DNS rebinding: the check at the creation of a webhook does not cover later attempts."""
    name_server.know(HOST, [PUBLIC], ["127.0.0.1"])
    url = f"https://{HOST}:{listener.port}/hook"
    check_url(url, allow_local=False, nameservers=[name_server.address])
    assert post_to(url).error == NOT_RESOLVED.format(HOST)
    assert not listener.was_called()


def test_the_address_that_was_checked_is_the_one_that_is_called(
    authority: Authority, name_server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second look-up could give another address, so each connection uses a single look-up."""
    # A loopback address plays the public one, so that a connection can be opened.
    monkeypatch.setattr("webhooks.address.is_public", lambda address: address == "127.0.0.2")
    name_server.know(HOST, ["127.0.0.2"], ["127.0.0.1"])
    context = authority.server_context(HOST)
    # The kernel assigns none of these ports at the other address to an outgoing connection.
    with closing(TlsReceiver(context, "127.0.0.2", free_port())) as receiver:
        with Listener("127.0.0.1", receiver.port) as trap:
            options = {"allow_local": False, "ssl_context": authority.client_context()}
            first, second = post(
                receiver.url(),
                receiver.url().replace(HOST, f"{HOST}."),
                nameservers=[name_server.address],
                **options,
            )
            assert not trap.was_called()
        assert len(receiver.at()) == 1
    assert first.success
    assert second.error == NOT_RESOLVED.format(f"{HOST}.")
    assert name_server.asked.count((HOST, "A")) == 2


def test_a_kept_connection_serves_no_other_host(
    authority: Authority, name_server: NameServer
) -> None:
    """Another name may belong to another customer, even with the same address."""
    for host in (HOST, "other.example"):
        name_server.know(host, ["127.0.0.1"])
    with closing(TlsReceiver(authority.server_context(HOST))) as receiver:
        first, second, third = post(
            receiver.url(),
            receiver.url(host="other.example"),
            receiver.url(),
            ssl_context=authority.client_context(),
            nameservers=[name_server.address],
        )
        assert len({request.peer for request in receiver.at()}) == 1
        assert receiver.asked_for == [HOST, "other.example"]
    assert (first.success, third.success) == (True, True)
    assert second.error == no_response(OTHER_HOST)


def test_names_of_the_hosts_file_are_called_where_local_ones_may_be(receiver: Receiver) -> None:
    """In development, a receiver may be at localhost."""
    assert post_one(receiver.url().replace("127.0.0.1", "localhost")).success
    assert receiver.at()[0].headers["host"] == f"localhost:{receiver.port}"
