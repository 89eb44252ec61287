"""The content that gateway broadcasts create builds from a template."""

from typing import Any

import click
import pytest

from gateway.cli.broadcast_content import content_with
from messaging_gateway_client import types

POSITIONAL = [
    {"type": "HEADER", "format": "TEXT", "text": "News for {{1}}"},
    {"type": "BODY", "text": "Hello {{1}}, see you on {{2}}."},
]
NAMED = [
    {"type": "BODY", "text": "Hello {{first_name}}."},
    {
        "type": "BUTTONS",
        "buttons": [{"type": "URL", "text": "Shop", "url": "https://a.example/{{1}}"}],
    },
]


def _template(components: list[Any]) -> types.Template:
    return {
        "id": "1",
        "numberIds": [],
        "name": "news",
        "language": "en_US",
        "status": "APPROVED",
        "category": "MARKETING",
        "components": components,
        "parameterFormat": None,
        "qualityScore": None,
        "rejectedReason": None,
        "updatedAt": "2026-11-20T09:30:00.000Z",
    }


def _texts(
    components: list[Any], columns: dict[str, str], fixed: dict[str, str], *, has_columns: bool
) -> list[str]:
    content = content_with(_template(components), columns, fixed, has_columns=has_columns)
    return [each["text"] for part in content["components"] for each in part["parameters"]]


def test_a_variable_is_a_column_or_the_same_text_for_all() -> None:
    given = {"header-1": "city", "1": "name"}, {"2": "Friday"}
    assert _texts(POSITIONAL, *given, has_columns=True) == ["{{city}}", "{{name}}", "Friday"]


def test_a_named_variable_is_the_column_of_its_name() -> None:
    columns = {"button-0": "code"}
    assert _texts(NAMED, columns, {}, has_columns=True) == ["{{first_name}}", "{{code}}"]
    other = columns | {"first_name": "Vorname"}
    assert _texts(NAMED, other, {}, has_columns=True) == ["{{Vorname}}", "{{code}}"]


@pytest.mark.parametrize(
    ("components", "fixed", "has_columns"),
    [
        (POSITIONAL, {"1": "a", "2": "b"}, True),
        (NAMED, {"button-0": "a"}, False),
        (NAMED, {"button-0": "a", "first_name": "b", "last_name": "c"}, True),
    ],
    ids=["without a value", "without columns", "unknown"],
)
def test_every_variable_has_a_value_and_no_other(
    components: list[Any], fixed: dict[str, str], *, has_columns: bool
) -> None:
    with pytest.raises(click.UsageError):
        _texts(components, {}, fixed, has_columns=has_columns)
