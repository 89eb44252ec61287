"""The sandbox serves requests of this machine, but none that a web site makes its browser send."""

from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from sandbox.settings import SettingsError, load
from sandbox_harness import PATIENCE, Business, Receiver, Sandbox

CONTROL, GRAPH, PAGE = "/_sandbox/healthz", "/v25.0/1", "/"


def _status(sandbox: Sandbox, path: str, *hosts: str) -> int:
    """The status of a response to a request with exactly these Host headers."""
    address, _, port = sandbox.url.removeprefix("http://").partition(":")
    with closing(HTTPConnection(address, int(port), timeout=PATIENCE)) as connection:
        connection.putrequest("GET", path, skip_host=True)
        for host in hosts:
            connection.putheader("Host", host)
        connection.endheaders()
        return connection.getresponse().status


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.0.0.1:8081", "127.8.8.8:1", "[::1]", "[::1]:8081"),
        *("localhost", "LocalHost:8081", "localhost.", "sandbox.localhost:65535"),
    ],
)
def test_every_name_of_this_machine_is_answered(shared: Business, host: str) -> None:
    assert _status(shared.sandbox, CONTROL, host) == 200
    assert _status(shared.sandbox, PAGE, host) == 200
    assert _status(shared.sandbox, GRAPH, host) == 401


@pytest.mark.parametrize(
    "host",
    [
        *(
            "rebound.example",
            "rebound.example:8081",
            "localhost.example",
            "notlocalhost",
            "0.0.0.0",  # noqa: S104
        ),
        *("127.0.0.1.example", "127.1", "10.0.0.1", "169.254.169.254:80", "[fe80::1]", "[::]"),
        *(
            "",
            ":8081",
            "[",
            "[::1",
            "::1",
            "127.0.0.1:x",
            "ada@localhost",
            "localhost/",
            "[localhost]",
        ),
    ],
)
def test_a_foreign_host_name_is_refused(shared: Business, host: str) -> None:
    """DNS rebinding: the attacker's origin equals the sandbox's, so the Origin header does not help."""
    assert [_status(shared.sandbox, path, host) for path in (CONTROL, GRAPH, PAGE)] == [403] * 3


def test_a_request_without_a_host_is_not_answered(shared: Business) -> None:
    assert _status(shared.sandbox, CONTROL) in {400, 403}


def test_the_refusal_has_the_shape_of_its_path(shared: Business) -> None:
    headers = {"Host": "rebound.example"}
    control = shared.sandbox.call("GET", CONTROL, headers=headers).json()
    graph = shared.sandbox.call("GET", GRAPH, headers=headers).json()
    for said in (control, graph):
        assert "SANDBOX_ALLOWED_HOSTS" in said["error"]["message"]
        assert "rebound.example" in said["error"]["message"]
    assert list(control["error"]) == ["message"]
    assert (graph["error"]["code"], graph["error"]["type"]) == (10, "OAuthException")


@pytest.mark.parametrize("origin", ["https://example.com", "null", "http://[", "http://]", ""])
def test_pages_of_other_sites_cannot_drive_the_sandbox(sandbox: Sandbox, origin: str) -> None:
    headers = {"Origin": origin}
    response = sandbox.call("POST", "/_sandbox/signup", json={}, headers=headers)
    assert response.status_code == 403
    assert sandbox.control("GET", "state")["numbers"] == []


def test_its_own_page_drives_the_sandbox(sandbox: Sandbox) -> None:
    headers = {"Origin": sandbox.url}
    assert sandbox.call("POST", "/_sandbox/signup", json={}, headers=headers).ok


@pytest.fixture
def sandbox_with_other_names(tmp_path: Path, receiver: Receiver) -> Iterator[Sandbox]:
    """A sandbox that other machines reach by other names."""
    names = {"SANDBOX_ALLOWED_HOSTS": " Sandbox, sandbox.test ,10.0.0.1,fd00::1"}
    sandbox = Sandbox(tmp_path / "elsewhere", receiver.url, names)
    yield sandbox
    sandbox.close()


def test_names_that_the_setting_allows_are_answered(sandbox_with_other_names: Sandbox) -> None:
    for host in ("sandbox:8081", "sandbox.test", "10.0.0.1:80", "[fd00::1]:8081", "localhost"):
        assert _status(sandbox_with_other_names, CONTROL, host) == 200
    assert _status(sandbox_with_other_names, CONTROL, "other.test") == 403


@pytest.mark.parametrize("value", ["http://sandbox", "sandbox:8081", "*", "[::1]", "a b", "a@b"])
def test_a_setting_that_is_no_list_of_names_is_refused(value: str) -> None:
    with pytest.raises(SettingsError, match="SANDBOX_ALLOWED_HOSTS"):
        load({"SANDBOX_ALLOWED_HOSTS": value})
