"""Addresses in messages: the contract takes what browsers take, and the sandbox refuses none of these."""

import re
from typing import Any

import pytest
from jsonschema_rs import Draft4Validator

from gateway.api import contract
from sandbox.contents import CONTENTS
from sandbox.graph_errors import GraphError

SCHEMAS: dict[str, Any] = contract.load()["components"]["schemas"]
MEDIA = Draft4Validator(SCHEMAS["MediaLink"])
BUTTON = Draft4Validator(SCHEMAS["CtaUrlParameters"]["properties"]["url"])
LONGEST = 8192
BOTH = [
    "http://a",
    "https://example.com",
    "https://example.com/",
    "https://example.com?x=1",
    "https://example.com#part",
    "https://example.com:8443/a.jpg",
    "https://example.com:/a.jpg",
    "https://my_bucket.s3.example.com/a.jpg",
    "https://-a-.example.com/a.jpg",
    "https://münchen.example/a.jpg",
    "https://例え.テスト/絵.jpg?名=値",
    "https://xn--mnchen-3ya.example/a.jpg",
    "https://192.0.2.7:8080/a.jpg",
    "https://[2001:db8::7]/a.jpg",
    "https://[2001:db8::192.0.2.7]:8443/a.jpg",
    "https://example.com/a%20b/(c)'d'[e]{f}|g^h`i\"<j>",
    "https://example.com/a.jpg?X-Amz-Signature=0123&a[]=1&u=https://example.org/?q#x",
    "https://example.com/" + "a" * (LONGEST - 20),
]
NEITHER = [
    "",
    "example.com/a.jpg",
    "//example.com/a.jpg",
    "ftp://example.com/a.jpg",
    "javascript:alert(1)//https://example.com",
    "https://",
    "https:///a.jpg",
    "https://?a",
    "https://example.com/a b",
    "https://exa mple.com/",
    "https://example.com/a\tb",
    "https://example.com/\n",
    " https://example.com/",
    "https://example.com/" + "a" * (LONGEST - 19),
]
# WhatsApp fetches a file without a password. A person may open such a page.
BUTTON_ALONE = ["https://user:password@example.com/", "https://example.com\\@localhost/"]


def _is_taken(link: str) -> bool:
    try:
        CONTENTS["image"]("image", {"link": link})
    except GraphError:
        return False
    return True


@pytest.mark.parametrize("link", BOTH)
def test_an_address_that_browsers_open_is_taken(link: str) -> None:
    assert (MEDIA.is_valid(link), BUTTON.is_valid(link), _is_taken(link)) == (True, True, True)


@pytest.mark.parametrize("link", NEITHER)
def test_a_text_that_is_no_address_is_refused(link: str) -> None:
    assert (MEDIA.is_valid(link), BUTTON.is_valid(link), _is_taken(link)) == (False, False, False)


@pytest.mark.parametrize("link", BUTTON_ALONE)
def test_a_password_or_a_backslash_is_for_buttons_alone(link: str) -> None:
    assert (MEDIA.is_valid(link), BUTTON.is_valid(link), _is_taken(link)) == (False, True, True)


def test_each_character_that_the_contract_takes_is_taken_by_the_sandbox() -> None:
    """Engines of regular expressions differ in what is blank."""
    for place in ("https://a{}b", "https://a/{}"):
        for number in (
            *range(0x300),
            *range(0x1680, 0x1690),
            *range(0x2000, 0x2070),
            0x3000,
            0xFEFF,
        ):
            link = place.format(chr(number))
            if MEDIA.is_valid(link) or BUTTON.is_valid(link):
                assert _is_taken(link), repr(link)


def test_other_engines_read_the_pattern_alike() -> None:
    """Python's, by which fuzzers write addresses."""
    pattern = re.compile(SCHEMAS["MediaLink"]["pattern"])
    for link in (*BOTH, *NEITHER, *BUTTON_ALONE):
        if len(link) <= LONGEST and not link.endswith("\n"):
            assert MEDIA.is_valid(link) == (pattern.search(link) is not None), link
