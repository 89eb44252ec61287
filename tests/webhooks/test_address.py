"""Which addresses a webhook may have (decision 19 of the design)."""

import socket
from typing import Any

import pytest

from webhooks.address import AddressRefusedError, check_url, is_public

PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001::200e"]
NOT_PUBLIC = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fd00::1", "fc00::1"],
    "link-local": ["169.254.0.1", "fe80::1", "fe80::1%eth0"],
    "cloud metadata": ["169.254.169.254", "fd00:ec2::254"],
    "carrier-grade NAT": ["100.64.0.1", "100.127.255.255"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],  # noqa: S104 - addresses to refuse
    "reserved": ["240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "203.0.113.9"],
    "reserved IPv6": ["2001:db8::1", "100::1", "5f00::1", "4000::1", "fec0::1"],
    "mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8"],
    "compatible": ["::127.0.0.1", "::10.0.0.1"],
    "translated": ["::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"],
    "6to4": ["2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1"],
    "teredo": ["2001:0:4136:e378:8000:63bf:3fff:fdd2"],
}


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_called(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address", [pytest.param(a, id=f"{kind} {a}") for kind in NOT_PUBLIC for a in NOT_PUBLIC[kind]]
)
def test_no_other_address_may_be_called(address: str) -> None:
    assert not is_public(address)


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
        "127.0.1",
        "0",
        "10.1",
        "169.254.169.254",
        "0xa9fea9fe",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ],
)
def test_no_spelling_of_a_local_address_gets_past_the_resolver(host: str) -> None:
    for suffix in ("", ":8443", "/hook"):
        with pytest.raises(AddressRefusedError, match="not public"):
            check_url(f"https://{host}{suffix}", allow_local=False)


def test_only_https_will_do() -> None:
    with pytest.raises(AddressRefusedError, match="https://"):
        check_url("http://8.8.8.8/hook", allow_local=False)


def test_a_public_address_is_accepted() -> None:
    check_url("https://8.8.8.8/hook", allow_local=False)
    check_url("https://8.8.8.8:8443/hook?a=b", allow_local=False)


@pytest.mark.parametrize("host", ["nothing.invalid", "a" * 64 + ".example", "no..name"])
def test_a_host_that_cannot_be_resolved_is_refused(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo

    def answer(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.endswith(".invalid"):  # RFC 6761: no name server need be asked.
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    with pytest.raises(AddressRefusedError, match="cannot be resolved"):
        check_url(f"https://{host}/", allow_local=False)


def test_one_local_address_among_public_ones_is_one_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))
        for address in ("8.8.8.8", "10.0.0.1")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(AddressRefusedError, match=r"hook\.example has the address 10\.0\.0\.1"):
        check_url("https://hook.example/", allow_local=False)


def test_with_the_sandbox_http_and_loopback_will_do() -> None:
    check_url("http://127.0.0.1:9000/hook", allow_local=True)
    check_url("http://localhost:9000/hook", allow_local=True)
