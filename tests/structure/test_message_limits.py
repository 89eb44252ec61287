"""Every limit of the content of a message is the same in the contract and in the sandbox.

The limits come from the contract: each is tried in an example or variant that has the property.
"""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import pytest
from jsonschema_rs import Draft4Validator

from contract_tests.conformance.kinds_of_message import LINK, VARIANTS
from contract_tests.conformance.limits_of_message import LIMITS
from gateway.api import contract
from networks.whatsapp.media import FILES
from sandbox import media_types
from sandbox.contents import CONTENTS
from sandbox.graph_errors import GraphError

CONTRACT = contract.load()
SCHEMAS: dict[str, Any] = CONTRACT["components"]["schemas"]
EXAMPLES = {
    name: example["value"]
    for name, example in CONTRACT["components"]["examples"].items()
    if name.startswith("Send") and "type" in example["value"]
}
MESSAGES: dict[str, Any] = EXAMPLES | VARIANTS
Place = tuple[str | int, ...]


class Limit(NamedTuple):
    """A property of a message, a value at its limit, and one beyond it."""

    message: str
    place: Place
    most: Any
    beyond: Any


def _resolved(schema: Any) -> Any:
    while "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return schema


def _meant(schema: Any, value: Any) -> Any:
    """The alternative of a union that fits the value."""
    schema = _resolved(schema)
    while "oneOf" in schema:
        fitting = [each for each in schema["oneOf"] if _validator(each).is_valid(value)]
        schema = _resolved(fitting[0])
    return schema


def _validator(schema: Any) -> Draft4Validator:
    return Draft4Validator({"allOf": [schema], "components": {"schemas": SCHEMAS}})


def _limits(message: str, schema: Any, value: Any, place: Place) -> Iterator[Limit]:
    schema = _meant(schema, value)
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in schema.get("properties", {}):
                yield from _limits(message, schema["properties"][name], inner, (*place, name))
    elif isinstance(value, list):
        if value and "maxItems" in schema:
            full = value[-1:] * schema["maxItems"]
            yield Limit(message, place, full, full + value[-1:])
        for at, inner in enumerate(value):
            yield from _limits(message, schema["items"], inner, (*place, at))
    elif "maxLength" in schema:
        longest = _longest(schema)
        yield Limit(message, place, longest, longest + longest[-1])
    for name, step in (("minimum", -1), ("maximum", 1)):
        if name in schema:
            yield Limit(message, place, schema[name], schema[name] + step)


def _longest(schema: Any) -> str:
    pattern: str = schema["pattern"]
    start = LINK if pattern.startswith("^[Hh]") else ""
    [letter, *_] = [each for each in "a1A" if re.search(pattern, start + each)]
    most: int = schema["maxLength"]
    return start + letter * (most - len(start))


def _all() -> dict[str, Limit]:
    """One case for each limit, by the schema's property and not by the message that has it."""
    found: dict[str, Limit] = {}
    for name, body in MESSAGES.items():
        whole = {"number_id": "num_1", "to": "15551234567"} | body
        kind = body["type"]
        request = SCHEMAS[f"Send{kind.capitalize()}Request"]
        for limit in _limits(name, request["properties"][kind], whole[kind], (kind,)):
            inside = [body[kind].get("type", "")] if kind == "interactive" else []
            names = [str(part) for part in limit.place if isinstance(part, str)]
            bound = limit.most if isinstance(limit.most, int) else len(limit.most)
            found.setdefault(" ".join([*inside, *names, str(bound)]), limit)
    return found


ALL = _all()


def _changed(limit: Limit, value: Any) -> Any:
    body = {"number_id": "num_1", "to": "15551234567"} | deepcopy(MESSAGES[limit.message])
    inner = body
    for part in limit.place[:-1]:
        inner = inner[part]
    inner[limit.place[-1]] = value
    return body


def _fits(body: Any) -> bool:
    return _validator(SCHEMAS["SendMessageRequest"]).is_valid(body)


def _is_taken(body: Any) -> bool:
    kind = body["type"]
    content = body[kind]
    if kind == "reaction":
        content = content | {"message_id": "wamid.X"}
    try:
        CONTENTS[kind](kind, content)
    except GraphError:
        return False
    return True


@pytest.mark.parametrize("name", ALL)
def test_a_limit_of_the_contract_is_the_sandboxs(name: str) -> None:
    limit = ALL[name]
    most, beyond = _changed(limit, limit.most), _changed(limit, limit.beyond)
    assert (_fits(most), _is_taken(most)) == (True, True)
    assert (_fits(beyond), _is_taken(beyond)) == (False, False)


@pytest.mark.parametrize(("good", "bad"), [pytest.param(*case[1:], id=case[0]) for case in LIMITS])
def test_a_documented_limit_is_the_contracts_and_the_sandboxs(good: Any, bad: Any) -> None:
    start = {"number_id": "num_1", "to": "15551234567"}
    assert (_fits(start | good), _is_taken(good)) == (True, True)
    assert not _fits(start | bad)


def test_every_kind_of_content_has_limits_of_its_own() -> None:
    kinds = {MESSAGES[limit.message]["type"] for limit in ALL.values()}
    assert kinds == set(CONTENTS)


def test_files_have_the_same_limits() -> None:
    assert FILES.limits == media_types.LIMITS
