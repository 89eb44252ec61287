"""The contract and the sandbox have the same types of messages, in the same shapes."""

from typing import Any

import pytest

from gateway.api import contract
from sandbox.contents import CONTENTS

CONTRACT = contract.load()
SCHEMAS: dict[str, Any] = CONTRACT["components"]["schemas"]
TYPES: list[str] = list(SCHEMAS["SendMessageRequest"]["discriminator"]["mapping"])
BODY = CONTRACT["paths"]["/messages/send"]["post"]["requestBody"]["content"]["application/json"]
EXAMPLES = [e["$ref"].rpartition("/")[2] for e in BODY["examples"].values()]


def test_the_sandbox_takes_every_type_of_the_contract() -> None:
    assert set(TYPES) == set(CONTENTS)


@pytest.mark.parametrize("kind", TYPES)
def test_a_request_is_closed_and_requires_the_content_that_its_type_names(kind: str) -> None:
    request = SCHEMAS[f"Send{kind.capitalize()}Request"]
    assert request["additionalProperties"] is False
    assert request["required"] == ["number_id", "to", "type", kind]
    # A reaction refers to its message in its content.
    others = {"reference"} if kind == "reaction" else {"reference", "context"}
    assert request["properties"].keys() == {*request["required"], *others}
    assert request["properties"]["type"]["enum"] == [kind]


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
