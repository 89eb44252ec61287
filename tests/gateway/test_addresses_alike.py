"""Emails and links are judged alike by the API, the commands and the dashboard."""

from typing import Any

import click
import pytest

from contract_tests.operations import all_operations
from dashboard import notifications
from gateway.api.pattern_errors import EXTENSION
from gateway.api.schema_errors import validator_of
from gateway.cli.accounts import create
from tests.address_families import BAD_EMAILS, BAD_LINKS, GOOD_EMAILS, GOOD_LINKS, GOOD_LOGINS

Schema = dict[str, Any]
BODIES = {o.id: o.body_schema for o in all_operations() if o.body_schema is not None}
EACH = 300


def parsed(schema: Any, parser: str) -> list[Schema]:
    """The schemas with this parser inside a schema."""
    if isinstance(schema, list):
        return [found for part in schema for found in parsed(part, parser)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("x-parser") == parser else []
    return own + [found for part in schema.values() for found in parsed(part, parser)]


def by_api(text: str) -> bool:
    """Whether the profile of a number accepts the email."""
    return validator_of(BODIES["updateNumberProfile"]).is_valid({"email": text})


def by_command(text: str) -> bool:
    """Whether ``gateway users create`` accepts the email."""
    [argument] = [each for each in create.params if each.name == "email"]
    try:
        argument.process_value(click.Context(create), text)
    except click.BadParameter:
        return False
    return True


def by_dashboard(text: str) -> bool:
    """Whether the form of notifications accepts the email."""
    try:
        notifications._check([text])  # The form would send a mail for each.
    except ValueError:
        return False
    return True


JUDGES = [by_api, by_command, by_dashboard]


@pytest.mark.parametrize("judge", JUDGES)
def test_each_email_that_mail_servers_accept_is_accepted(judge: Any) -> None:
    assert [text for text in GOOD_EMAILS if not judge(text)] == []


@pytest.mark.parametrize("judge", JUDGES)
def test_each_email_that_no_mail_server_accepts_is_refused(judge: Any) -> None:
    assert [text for text in BAD_EMAILS if judge(text)] == []


@pytest.mark.parametrize("operation", ["sendMessage", "updateNumberProfile"])
def test_each_link_that_browsers_accept_is_accepted(operation: str) -> None:
    """The dashboard sends its messages through the API."""
    good = GOOD_LINKS + (GOOD_LOGINS if operation == "updateNumberProfile" else [])
    for schema in parsed(BODIES[operation], "link"):
        judge = validator_of(schema)
        assert [text for text in good if not judge.is_valid(text)] == []
        assert [text for text in BAD_LINKS if judge.is_valid(text)] == []


def test_there_are_many_of_each_family() -> None:
    assert len(set(GOOD_EMAILS + GOOD_LINKS)) >= EACH
    assert len(set(BAD_EMAILS + BAD_LINKS)) >= EACH


def test_every_parser_of_the_contract_stands_beside_a_sentence() -> None:
    found = [
        each
        for body in BODIES.values()
        for name in ("email", "link")
        for each in parsed(body, name)
    ]
    assert {name for each in found for name in (EXTENSION, "pattern") if name not in each} == set()
    assert len(parsed(BODIES["updateNumberProfile"], "link")) == 1
