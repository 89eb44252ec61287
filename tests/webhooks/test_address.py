"""The addresses that a webhook may have."""

import ipaddress
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhooks.name_server import REFUSED, NameServer
from webhooks import address as addresses
from webhooks.address import ODD_SPELLING, UNRESOLVED, AddressRefusedError, check_url, is_public
from webhooks.faults import MachineError

PUBLIC = [
    *("8.8.8.8", "1.1.1.1", "93.184.216.34", "9.255.255.255", "11.0.0.0", "100.63.255.255"),
    *("100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0"),
    *("172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0"),
    *("198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.17"),
    *("2606:4700:4700::1111", "2a00:1450:4001::200e", "2a00:1450::5efe", "2001:4860:4860::8888"),
]
NOT_PUBLIC = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fd00::1", "fc00::1"],
    "link-local": ["169.254.0.1", "fe80::1", "fe80::1%eth0"],
    "cloud metadata": [
        *("169.254.169.254", "169.254.170.2", "fd00:ec2::254", "100.100.100.200"),
        *("168.63.129.16", "192.0.0.192"),
    ],
    "carrier-grade NAT": ["100.64.0.1", "100.127.255.255"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],  # noqa: S104 - addresses to refuse
    "reserved": ["240.0.0.1", "255.255.255.254", "192.0.0.8", "192.0.0.170", "192.88.99.1"],
    "broadcast": ["255.255.255.255"],
    "documentation": [
        *("192.0.2.1", "198.51.100.1", "203.0.113.9", "2001:db8::1", "3fff::1", "3fff:fff::1"),
    ],
    "benchmarks": ["198.18.0.1", "198.19.255.255", "2001:2::1"],
    "reserved IPv6": ["100::1", "5f00::1", "4000::1", "fec0::1", "2001:20::1", "2001:10::1"],
    "mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8"],
    "compatible": ["::127.0.0.1", "::10.0.0.1"],
    "translated": ["::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"],
    "6to4": ["2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1"],
    "teredo": ["2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "ISATAP": [
        *("2a00:1450::5efe:7f00:1", "2a00:1450::200:5efe:a00:1", "fe80::5efe:7f00:1"),
        *("2a00:1450::5efe:808:808", "2606:4700:1:2:200:5efe:127.0.0.1"),
    ],
}
IS_LOCAL = addresses.NOT_PUBLIC.format(".+", ".+")


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_called(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address", [pytest.param(a, id=f"{kind} {a}") for kind in NOT_PUBLIC for a in NOT_PUBLIC[kind]]
)
def test_no_other_address_may_be_called(address: str) -> None:
    assert not is_public(address)


def _near_special_ones() -> st.SearchStrategy[str]:
    return st.sampled_from(addresses.SPECIAL).flatmap(lambda n: st.ip_addresses(network=n)).map(str)


@given(st.one_of(st.ip_addresses().map(str), _near_special_ones()))
def test_addresses_that_python_calls_special_are_not_public(address: str) -> None:
    """Python's table is independent of our table, and smaller in older versions."""
    assert ipaddress.ip_address(address).is_global or not is_public(address)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
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
        with pytest.raises(AddressRefusedError, match=IS_LOCAL):
            check_url(f"https://{host}{suffix}", allow_local=False)


def test_only_https_will_do() -> None:
    with pytest.raises(AddressRefusedError, match="https://"):
        check_url("http://8.8.8.8/hook", allow_local=False)


def test_a_public_address_is_accepted() -> None:
    check_url("https://8.8.8.8/hook", allow_local=False)
    check_url("https://8.8.8.8:8443/hook?a=b", allow_local=False)


@pytest.mark.parametrize(
    "host", ["xn--bcher-kva.example", "xn--zz-.example", f"xn--{'a' * 59}.example"]
)
def test_a_name_in_punycode_is_resolved_as_it_is(host: str, name_server: NameServer) -> None:
    name_server.know(host, ["8.8.8.8"])
    check_url(f"https://{host}/hook", allow_local=False, nameservers=[name_server.address])
    assert set(name_server.asked) == {(host, "A"), (host, "AAAA")}


@pytest.mark.parametrize("host", ["0x08080808", "134744072", "8.8.2056", "010.010.010.010"])
def test_an_odd_spelling_of_a_public_address_is_refused(host: str) -> None:
    """The client would refuse it: the check and the call must parse an address in the same way."""
    with pytest.raises(AddressRefusedError, match=re.escape(ODD_SPELLING.format(host, "8.8.8.8"))):
        check_url(f"https://{host}/", allow_local=False)


@pytest.mark.parametrize(
    "host",
    [
        *("nothing.example", "a" * 64 + ".example", "no..name", "mail.example", "localhost"),
        *("intranet.example", "half.example"),
    ],
)
def test_a_refusal_does_not_tell_what_name_servers_know(host: str, name_server: NameServer) -> None:
    """Customers get the same text for unknown and internal names, and those of the hosts file."""
    name_server.know("mail.example", [])
    name_server.know("intranet.example", ["10.0.0.1"])
    name_server.know("half.example", ["8.8.8.8", "10.0.0.1"])
    said = f"^{re.escape(UNRESOLVED.format(host))}$"
    with pytest.raises(AddressRefusedError, match=said):
        check_url(f"https://{host}/", allow_local=False, nameservers=[name_server.address])


def test_a_name_server_that_never_answers_does_not_hold_up_the_request(
    name_server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "LOOK_UP_SECONDS", 0.3)
    name_server.mute("hook.example")
    started = time.monotonic()
    with pytest.raises(AddressRefusedError, match=re.escape(UNRESOLVED.format("hook.example"))):
        check_url("https://hook.example/", allow_local=False, nameservers=[name_server.address])
    assert time.monotonic() - started < 2


def test_a_name_server_that_never_responds_is_no_refusal(
    name_server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "LOOK_UP_SECONDS", 0.1)
    monkeypatch.setattr("webhooks.resolver.PROBE_SECONDS", 0.1)
    for name in ("hook.example", ""):
        name_server.mute(name)
    with pytest.raises(MachineError):
        check_url("https://hook.example/", allow_local=False, nameservers=[name_server.address])


def test_name_servers_that_refuse_every_name_are_no_refusal(name_server: NameServer) -> None:
    name_server.refused = REFUSED
    with pytest.raises(MachineError):
        check_url("https://hook.example/", allow_local=False, nameservers=[name_server.address])


def test_a_name_with_public_addresses_only_is_accepted(name_server: NameServer) -> None:
    name_server.know("hook.example", ["8.8.8.8", "2606:4700:4700::1111"])
    check_url("https://hook.example/hook", allow_local=False, nameservers=[name_server.address])
    assert set(name_server.asked) == {("hook.example", "A"), ("hook.example", "AAAA")}


@pytest.mark.parametrize(
    "found",
    [["10.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "8.8.8.8"], ["8.8.8.8", "fd00::1"]],
    ids=" and ".join,
)
def test_a_name_with_one_local_address_is_refused(
    found: list[str], name_server: NameServer
) -> None:
    name_server.know("hook.example", found)
    with pytest.raises(AddressRefusedError, match=re.escape(UNRESOLVED.format("hook.example"))):
        check_url("https://hook.example/", allow_local=False, nameservers=[name_server.address])


@pytest.mark.parametrize(
    "host", ["127.0.0.1:9000", "127.255.255.254", "localhost:9000", "[::1]", "8.8.8.8", "a.example"]
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_with_the_sandbox_http_and_loopback_will_do(scheme: str, host: str) -> None:
    check_url(f"{scheme}://{host}/hook", allow_local=True)


@pytest.mark.parametrize(
    "address",
    [a for kind in NOT_PUBLIC if kind != "loopback" for a in NOT_PUBLIC[kind] if "%" not in a],
)
def test_with_the_sandbox_other_local_addresses_are_refused_too(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    for scheme in ("http", "https"):
        with pytest.raises(AddressRefusedError, match=IS_LOCAL):
            check_url(f"{scheme}://{host}/", allow_local=True)


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0177.0.0.1"])
def test_with_the_sandbox_an_odd_spelling_of_loopback_is_refused(host: str) -> None:
    with pytest.raises(
        AddressRefusedError, match=re.escape(ODD_SPELLING.format(host, "127.0.0.1"))
    ):
        check_url(f"http://{host}/", allow_local=True)
