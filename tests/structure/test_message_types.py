"""The contract and the sandbox know the same types of messages, in the same shapes."""

from typing import Any

import pytest

from gateway import contract
from sandbox.contents import CONTENTS

CONTRACT = contract.load()
REQUEST: dict[str, Any] = CONTRACT["components"]["schemas"]["SendMessageRequest"]
TYPES: list[str] = REQUEST["properties"]["type"]["enum"]
BODY = CONTRACT["paths"]["/messages/send"]["post"]["requestBody"]["content"]["application/json"]
EXAMPLES = [e["$ref"].rpartition("/")[2] for e in BODY["examples"].values()]


def test_the_sandbox_takes_every_type_of_the_contract() -> None:
    assert set(TYPES) == set(CONTENTS)


def test_every_type_has_its_content_and_is_one_of_the_alternatives() -> None:
    contents, _ = (part.get("oneOf") or part["anyOf"] for part in REQUEST["allOf"])
    assert [part["properties"]["type"]["enum"] for part in contents] == [[t] for t in TYPES]
    for kind, part in zip(TYPES, contents, strict=True):
        assert part["required"] == ["type", kind]
        assert part["properties"][kind] == REQUEST["properties"][kind]


def test_no_second_content_fits_into_a_request() -> None:
    """One that is added to the properties must not make room for two."""
    beside = set(REQUEST["properties"]) - set(TYPES)
    assert beside == {"number_id", "to", "type", "context"}
    _, bounds = REQUEST["allOf"]
    assert [part["maxProperties"] for part in bounds["anyOf"]] == [len(beside), len(beside) + 1]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_sandbox_takes_every_example_of_the_contract(name: str) -> None:
    body = CONTRACT["components"]["examples"][name]["value"]
    content = body[body["type"]]
    if body["type"] == "reaction":
        content = content | {"message_id": "wamid.X"}
    CONTENTS[body["type"]](body["type"], content)


def test_there_is_an_example_of_every_type() -> None:
    examples = CONTRACT["components"]["examples"]
    assert {examples[name]["value"]["type"] for name in EXAMPLES} == set(TYPES)
