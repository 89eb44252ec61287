"""Emails and links are judged alike by parsers, the contract, the commands and the pages.

The contract's patterns accept no text that a parser refuses, so a program that generates texts by the
contract is never refused.
"""

import re
from collections.abc import Callable
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard import notifications
from gateway.api.contract import load
from gateway.api.schema_errors import validator_of
from gateway.cli.accounts import create
from models.addresses import is_email, mailable
from tests.address_families import BAD_EMAILS, BAD_LINKS, GOOD_EMAILS, GOOD_LINKS, GOOD_LOGINS
from tests.link_parser import is_link

Schema = dict[str, Any]
Judge = Callable[[str], bool]
SCHEMAS: dict[str, Any] = load()["components"]["schemas"]
PROFILE = SCHEMAS["UpdateProfileRequest"]["properties"]
EMAIL, WEBSITE = PROFILE["email"], PROFILE["websites"]["items"]
BUTTON, FILE = SCHEMAS["CtaUrlParameters"]["properties"]["url"], SCHEMAS["MediaLink"]
BLANKS = {"\x85", "\ufeff"}
EACH = 300


def judge_of(schema: Schema) -> Judge:
    """The judgement of the contract."""
    return validator_of(schema).is_valid


def texts_of(schema: Schema) -> st.SearchStrategy[str]:
    """Texts that fit the contract, as fuzzers write them."""
    return st.from_regex(re.compile(schema["pattern"])).filter(judge_of(schema))


FITS_EMAIL = judge_of(EMAIL)


def by_api(text: str) -> bool:
    """Whether the profile of a number accepts the email. An empty one deletes it."""
    return text != "" and FITS_EMAIL(text)


def by_command(text: str) -> bool:
    """Whether ``gateway users create`` accepts the email."""
    [argument] = [each for each in create.params if each.name == "email"]
    try:
        argument.process_value(click.Context(create), text)
    except click.BadParameter:
        return False
    return True


def by_dashboard(text: str) -> bool:
    """Whether the form of notifications accepts the email, which it splits at blanks."""
    try:
        notifications._check([text])  # The form would send a mail for each.
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("judge", [is_email, by_api, by_command, by_dashboard])
def test_each_email_that_mail_servers_accept_is_accepted(judge: Judge) -> None:
    assert [text for text in GOOD_EMAILS if not judge(text)] == []


@pytest.mark.parametrize("judge", [is_email, by_api, by_command, by_dashboard])
def test_each_email_that_no_mail_server_accepts_is_refused(judge: Judge) -> None:
    # The command removes blanks around an email.
    bad = [text.strip() if judge is by_command else text for text in BAD_EMAILS]
    assert [text for text in bad if judge(text) and text not in GOOD_EMAILS] == []


@pytest.mark.parametrize("judge", [is_link, *map(judge_of, (WEBSITE, BUTTON, FILE))])
def test_each_link_that_browsers_accept_is_accepted(judge: Judge) -> None:
    assert [text for text in GOOD_LINKS if not judge(text)] == []


@pytest.mark.parametrize("judge", [is_link, *map(judge_of, (WEBSITE, BUTTON, FILE))])
def test_each_link_that_no_browser_accepts_is_refused(judge: Judge) -> None:
    assert [text for text in BAD_LINKS if judge(text)] == []


def test_a_user_name_is_for_links_that_people_open() -> None:
    judges = [is_link, *map(judge_of, (WEBSITE, BUTTON, FILE))]
    found = {tuple(judge(text) for judge in judges) for text in GOOD_LOGINS}
    assert found == {(True, True, True, False)}


@pytest.mark.parametrize("texts", [GOOD_EMAILS, BAD_EMAILS, GOOD_LINKS, BAD_LINKS])
def test_there_are_many_of_each_family(texts: list[str]) -> None:
    assert len(set(texts)) >= EACH


JUDGED = [(EMAIL, is_email), (WEBSITE, is_link), (BUTTON, is_link), (FILE, is_link)]


@given(texts_of(EMAIL))
@settings(max_examples=300, deadline=None)
def test_a_parser_accepts_each_email_that_fits_the_contract(text: str) -> None:
    assert text == "" or is_email(text)


@given(texts_of(WEBSITE) | texts_of(BUTTON) | texts_of(FILE))
@settings(max_examples=300, deadline=None)
def test_a_parser_accepts_each_link_that_fits_the_contract(text: str) -> None:
    assert is_link(text)


@pytest.mark.parametrize(("schema", "parser"), JUDGED)
@pytest.mark.parametrize(
    "form", ["a{}b@c.de", "a@b{}c.de", "a@b.1{}", "https://a{}b.de/", "https://a.de/{}"]
)
def test_contract_and_parser_judge_each_character_alike(
    schema: Schema, parser: Judge, form: str
) -> None:
    judge = judge_of(schema)
    texts = [form.format(chr(code)) for code in (*range(0x3100), *range(0xF8FF, 0x10000))]
    differing = [text for text in texts if judge(text) != parser(text)]
    assert [text for text in differing if not is_elsewhere(schema, text)] == []


def is_elsewhere(schema: Schema, text: str) -> bool:
    """Whether only a file refuses this link, or engines differ in what is blank."""
    return (schema is FILE and not {"\\", "@"}.isdisjoint(text)) or not BLANKS.isdisjoint(text)


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("ana@example.com", "ana@example.com"),
        ("ana@bücher.example", "ana@xn--bcher-kva.example"),
        ("jörg@example.com", "jörg@example.com"),
        ("ana@☃.example", None),
        ("ana@example.com, eve@example.com", None),
    ],
)
def test_a_mail_goes_to_the_ascii_form_of_its_domain(typed: str, sent: str | None) -> None:
    assert mailable(typed) == sent
