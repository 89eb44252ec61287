"""The one spelling of a host that is stored."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.address import AddressRefusedError, spelled_address
from webhooks.ascii_host import ascii_host


@pytest.mark.parametrize(
    ("host", "stored"),
    [
        ("b\u00fccher.example", "xn--bcher-kva.example"),
        ("B\u00dcCHER.Example", "xn--bcher-kva.example"),
        # U and a combining diaeresis.
        ("bu\u0308cher.example", "xn--bcher-kva.example"),
        # IDNA 2003 would make "fass.example" of it, which is another host.
        ("fa\u00df.example", "xn--fa-hia.example"),
        ("\u4f8b\u3048.\u30c6\u30b9\u30c8", "xn--r8jz45g.xn--zckzah"),
        # The full stop of Chinese and full-width letters.
        ("b\u00fccher\u3002\uff45xample", "xn--bcher-kva.example"),
        ("\u05d0\u05d1.example", "xn--4dbc.example"),
        # Hosts that are ASCII already stay as they are.
        ("Hooks.Example", "Hooks.Example"),
        ("a--b.xn--zz-.example", "a--b.xn--zz-.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("[2606:4700:4700:0:0::1111]", "[2606:4700:4700::1111]"),
        ("[2A00:1450::200E]", "[2a00:1450::200e]"),
        ("[::1]", "[::1]"),
    ],
)
@pytest.mark.parametrize("allow_invalid", [True, False])
def test_a_host_has_one_spelling(host: str, stored: str, *, allow_invalid: bool) -> None:
    assert ascii_host(host, allow_invalid=allow_invalid) == stored


@pytest.mark.parametrize(
    "host",
    [
        # A symbol, an emoji, a label that begins with a combining mark, mixed directions.
        *("\u2603.example", "\U0001f44d.example", "\u0308u.example", "a\u05d0.example"),
        # A line separator, an unassigned character, a soft hyphen alone, a slash in full width.
        *("a\u2028b.example", "\u0378.example", "\u00ad.example", "a\uff0fb.example"),
        # Labels and a name that are too long, a dot at the end, a number at the end.
        *("\u00fc" * 60 + ".example", "\u00fc." * 60 + "example", "\u00fc\u3002", "\u00fc.\uff11a"),
        "ab--c.b\u00fccher.example",
    ],
    ids=ascii,
)
def test_an_invalid_name_is_refused_and_named(host: str) -> None:
    with pytest.raises(AddressRefusedError, match=re.escape(host)):
        ascii_host(host, allow_invalid=False)


@pytest.mark.parametrize("host", ["\u2603.example", "b\u00fccher.\u0378", "\u00fc\u3002"])
def test_where_names_are_not_checked_an_invalid_one_has_an_ascii_form_too(host: str) -> None:
    assert re.fullmatch(r"[a-z0-9.-]+[a-z0-9]", ascii_host(host, allow_invalid=True))


@pytest.mark.parametrize("host", ["[1::2::3]", "[:]", "[1.2.3.4]", "[12345::]", "[fe80::1%eth0]"])
@pytest.mark.parametrize("allow_invalid", [True, False])
def test_a_malformed_ipv6_address_is_refused(host: str, *, allow_invalid: bool) -> None:
    with pytest.raises(AddressRefusedError, match=re.escape(host)):
        ascii_host(host, allow_invalid=allow_invalid)


@pytest.mark.parametrize(
    "host", ["\uff11\uff12\uff17.0.0.1", "\uff11\uff10\u3002\uff11", "\u00ad0"]
)
def test_an_address_has_no_unicode_spelling(host: str) -> None:
    with pytest.raises(AddressRefusedError):
        ascii_host(host, allow_invalid=False)
    stored = ascii_host(host, allow_invalid=True)
    assert spelled_address(stored) is None


@given(st.text(st.characters(min_codepoint=0x80, exclude_categories=["Cs"]), min_size=1))
def test_a_name_is_refused_or_gets_a_name_that_stays(label: str) -> None:
    for allow_invalid in (True, False):
        try:
            stored = ascii_host(f"{label}.example", allow_invalid=allow_invalid)
        except AddressRefusedError:
            assert not allow_invalid
        else:
            assert re.fullmatch(r"[a-z0-9.-]+", stored)
            assert ascii_host(stored, allow_invalid=False) == stored
