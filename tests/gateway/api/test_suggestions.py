"""What errors suggest is accepted: each suggestion is made for wrong values of the contract, and applied."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

from contract_tests.operations import Path, all_operations
from gateway.api.schema_errors import Complaint, Schema, complaint

# Fewer suggestions than these would mean that the wrong values no longer cause them.
# Of properties that are given already, there is nearly never another one to suggest.
LEAST = {"property": 400, "given": 0, "word": 1_000, "phone number": 100, "time": 5}
WORD = re.compile(r'Did you mean "(.*)"[?]$')
DIGITS = re.compile(r" Write (\".*\")[.]$", re.DOTALL)


class Wrong(NamedTuple):
    """A value with one mistake of this kind."""

    kind: str
    schema: Schema
    value: Any


def misspelt(word: str) -> list[str]:
    """The word as people get it wrong: its case, its separators, one letter."""
    camel = re.sub("_([a-z])", lambda found: found[1].upper(), word)
    snake = re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", word)
    middle = len(word) // 2
    cut, twice = (
        word[:middle] + word[middle + 1 :],
        word[:middle] + word[middle:][:1] + word[middle:],
    )
    other = (word.upper(), word.lower(), word.replace("_", "-"), word.replace(".", "_"), f"{word}s")
    return [text for text in {camel, snake, cut, twice, *other} if text != word]


def grouped(digits: str) -> list[str]:
    """A phone number as people write it."""
    begin, end = digits[:4], digits[4:]
    spaces = (" ", "-", ".", "/", "\u00a0")
    # The last two have no correction.
    others = (f"+{digits}", f"({begin}) {end}", f"{digits}\n", f"00{digits}", f"+{digits} {digits}")
    return [*others, *(f"+{begin}{s}{end}" for s in spaces)]


def wrong_bodies() -> Iterator[Wrong]:
    """The examples of all bodies, with a mistake each."""
    for operation in all_operations():
        schema = operation.body_schema or {}
        for body in operation.body_examples.values():
            fields = operation.fields(body)
            for path, value in places(body):
                for kind, wrong in mistakes(value, fields.get(path, {})):
                    yield Wrong(kind, schema, replaced(body, path, wrong))


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each value inside a value, with its place."""
    yield path, value
    listed = enumerate(value) if isinstance(value, list) else ()
    for step, part in value.items() if isinstance(value, dict) else listed:
        yield from places(part, (*path, step))


def mistakes(value: Any, schema: Schema) -> Iterator[tuple[str, Any]]:
    """Wrong values instead of one."""
    if isinstance(value, dict):
        for name in value:
            others = {other: part for other, part in value.items() if other != name}
            for text in misspelt(name):
                yield "property", {text: value[name], **others}
                yield "given", {text: value[name], **value}
    elif isinstance(value, str) and "enum" in schema:
        yield from (("word", text) for text in misspelt(value))
    elif isinstance(value, str) and value.isdecimal() and len(value) >= len("1555123"):
        yield from (("phone number", text) for text in grouped(value))


def wrong_parameters() -> Iterator[Wrong]:
    """Wrong values of the parameters with words, phone numbers and times."""
    for operation in all_operations():
        for parameter in operation.parameters:
            schema = parameter["schema"]
            part = schema.get("items", schema)
            for kind, text in wrong_texts(part):
                yield Wrong(kind, part, text)


def wrong_texts(schema: Schema) -> Iterator[tuple[str, str]]:
    """Wrong texts of a parameter."""
    yield from (("word", text) for word in schema.get("enum", ()) for text in misspelt(word))
    if complaint(schema, "15551234567") is None:
        yield from (("phone number", text) for text in grouped("15551234567"))
    if schema.get("format") == "date-time":
        yield "time", "2025-01-01T00:00:00 01:00"
        yield "time", "2025-02-30T00:00:00 01:00"


def replaced(body: Any, path: Path, value: Any) -> Any:
    """A copy of a body with another value at a place."""
    if not path:
        return deepcopy(value)
    changed = deepcopy(body)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return changed


def corrected(value: Any, found: Complaint) -> Any:
    """The value with the suggestion of its error. None if there is no suggestion."""
    wrong = value
    for step in found.place:
        wrong = wrong[step]
    if (word := WORD.search(found.message)) and found.name is not None:
        assert word[1] not in wrong, f"{found.message} It is there already."
        others = {name: part for name, part in wrong.items() if name != found.name}
        return replaced(value, found.place, others | {word[1]: wrong[found.name]})
    if word:
        return replaced(value, found.place, word[1])
    if digits := DIGITS.search(found.message):
        return replaced(value, found.place, json.loads(digits[1]))
    return replaced(value, found.place, wrong.replace(" ", "+")) if "%2B" in found.message else None


def test_a_value_with_the_suggestion_of_its_error_is_accepted() -> None:
    suggested, refused = dict.fromkeys(LEAST, 0), []
    for each in (*wrong_bodies(), *wrong_parameters()):
        found = complaint(each.schema, each.value)
        if found is None or (value := corrected(each.value, found)) is None:
            continue
        suggested[each.kind] += 1
        if complaint(each.schema, value) is not None:
            refused.append(found.message)
    assert refused == []
    assert {kind: count for kind, count in suggested.items() if count < LEAST[kind]} == {}
