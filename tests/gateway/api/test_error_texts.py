"""What the errors of bad bodies say: the place, the rule and no more of the value than necessary."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from contract_tests.broken_bodies import Broken, all_broken
from contract_tests.operations import all_operations
from gateway.api import contract
from gateway.api.checks import MAX_MESSAGE_CHARACTERS
from gateway.api.pattern_errors import EXTENSION, SENTENCES
from gateway.api.schema_errors import complaint, first_mistake

Schema = dict[str, Any]
SAYS = {
    "type": "is not of type",
    "enum": "is not one of|give one of",
    "pattern": "does not match: [A-Z].*[.]",
    "minLength": "is shorter than",
    "maxLength": "is longer than",
    "minimum": "is less than the minimum",
    "maximum": "is greater than the maximum",
    "minItems": "has less than",
    "maxItems": "has more than",
    "minProperties": "has less than",
    "maxProperties": "has more than",
    "required": "is a required property",
    "additionalProperties": "was unexpected",
    "oneOf": "give exactly one of",
    "format": "is not a",
}
LEAST = 2_000


def lacks_of(given: Broken, schema: Schema) -> list[str]:
    """What the error of a broken body lacks."""
    found = complaint(schema, given.body)
    if found is None:
        return ["has no error"]
    lacks = []
    if (found.pointer or "") != given.pointer:
        lacks.append(f"points to {found.pointer}")
    if not any(re.search(SAYS[rule], found.message, re.DOTALL) for rule in given.rules):
        lacks.append(f"does not name a rule of {sorted(given.rules)}: {found.message[:200]}")
    if "y" * 100 in found.message or "z" * 100 in found.message or '{"' in found.message:
        lacks.append("repeats the value")
    if (described := given.schema.get("description")) and described in found.message:
        lacks.append("gives the description as the rule")
    return lacks


def test_each_broken_rule_of_the_contract_is_named_with_its_place() -> None:
    count, bad = 0, Counter[str]()
    rules = set[str]()
    for operation, given in all_broken():
        count += 1
        rules |= given.rules
        for lack in lacks_of(given, operation.body_schema or {}):
            bad[f"{operation.id} {given.pointer}: {lack}"] += 1
    assert bad == {}
    assert count >= LEAST
    assert rules >= SAYS.keys()


def patterns(schema: Any) -> list[Schema]:
    """The schemas with a pattern inside a schema."""
    if isinstance(schema, list):
        return [found for part in schema for found in patterns(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if isinstance(schema.get("pattern"), str) else []
    return own + [found for part in schema.values() for found in patterns(part)]


SCHEMAS: list[Schema] = [
    schema
    for operation in all_operations()
    for schema in [operation.body_schema or {}, *(p["schema"] for p in operation.parameters)]
]
PATTERNED = {json.dumps(found): found for schema in SCHEMAS for found in patterns(schema)}


def test_every_pattern_of_a_request_has_a_sentence_for_errors() -> None:
    sentences = {
        each["pattern"]: each.get(EXTENSION) or SENTENCES.get(each["pattern"], "")
        for each in PATTERNED.values()
    }
    assert [
        p for p, text in sentences.items() if not re.fullmatch(r"[A-Z].{10,300}[.]", text)
    ] == []
    assert SENTENCES.keys() - sentences.keys() == set()


def test_the_sentence_of_a_pattern_of_words_names_them_all() -> None:
    listed = {
        pattern: re.findall(r"\w+", found[1])
        for pattern in (each["pattern"] for each in PATTERNED.values())
        if (found := re.fullmatch(r"\^[(](\w+(?:[|]\w+)+)[)]\$", pattern))
    }
    schemas = [each for each in PATTERNED.values() if each["pattern"] in listed]
    told = {each["pattern"]: first_mistake(each, "?").message for each in schemas}
    assert {p: [w for w in words if w not in told[p]] for p, words in listed.items()} == {
        p: [] for p in listed
    }
    assert max(map(len, listed.values())) > 20
    assert max(map(len, told.values())) < MAX_MESSAGE_CHARACTERS


def choices(schema: Any) -> list[Schema]:
    """The schemas with a list of allowed words inside a schema."""
    if isinstance(schema, list):
        return [found for part in schema for found in choices(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if isinstance(schema.get("enum"), list) else []
    return own + [found for part in schema.values() for found in choices(part)]


CHOICES = [found for schema in SCHEMAS for found in choices(schema)]


def test_the_error_of_a_choice_names_all_its_words_and_fits_a_message() -> None:
    most = 0
    for each in CHOICES:
        told = first_mistake({"enum": each["enum"]}, "?").message
        assert [word for word in each["enum"] if str(word) not in told] == []
        assert len(told) < MAX_MESSAGE_CHARACTERS
        most = max(most, len(each["enum"]))
    assert most > 3


@pytest.mark.parametrize(
    ("value", "meant"),
    [("MESSAGE.SENT", "message.sent"), ("mesage_sent", "message.sent"), ("x", None), (7, None)],
)
def test_the_word_that_is_meant_is_suggested(value: Any, meant: str | None) -> None:
    told = first_mistake({"enum": ["number.banned", "message.sent"]}, value).message
    assert told.endswith(f'Did you mean "{meant}"?' if meant else "message.sent")


@pytest.mark.parametrize(("text", "is_lost"), [("T00:00:00 01:00", True), (" 00:00:00Z", False)])
def test_the_error_of_a_time_shows_one_and_says_that_a_url_changes_a_plus(
    text: str,
    is_lost: bool,  # noqa: FBT001 - a column of the table
) -> None:
    schema = {"type": "string", "format": "date-time"}
    told = first_mistake(schema, f"2025-01-01{text}").message
    assert ("%2B" in told) == is_lost
    [shown] = set(re.findall(r"like (\S+Z)", told))
    assert complaint(schema, shown) is None


def test_every_pattern_compiles_in_ruby() -> None:
    """Its escapes of bytes end at 7F, where other languages mean characters."""
    every = [found["pattern"] for found in patterns(contract.load())]
    assert len(every) > len(PATTERNED)
    assert [pattern for pattern in every if re.search(r"\\x[89A-Fa-f]", pattern)] == []


def test_a_mistake_that_the_outline_hides_is_found_by_the_whole_schema() -> None:
    hidden: Schema = {"type": "array", "items": {}, "not": {"enum": [[[1]]]}}
    assert complaint(hidden, [[1]]) is None
    assert "not allowed" in first_mistake(hidden, [[1]]).message


@pytest.mark.parametrize("text", ["+1 555", "0155-5123-4567-8901", "1555123456789-0123456"])
def test_a_correction_that_does_not_fit_itself_is_not_suggested(text: str) -> None:
    phone = {"type": "string", "maxLength": 15, "pattern": "^[1-9][0-9]{6,}$"}
    assert "Write" not in str(first_mistake(phone, text))


def test_a_long_value_is_cut() -> None:
    told = first_mistake({"type": "string", "maxLength": 100}, "x" * 200)
    assert len(told.message) < 100
    assert told.message.endswith('..." is longer than 100 characters')


def test_no_rule_repeats_a_secret() -> None:
    secret = {"type": "string", "maxLength": 3, "pattern": "^[a-z]+$", "writeOnly": True}
    for value in ("hunter2", "abcdef", 123456, "15 55"):
        assert str(value) not in first_mistake(secret, value).message
