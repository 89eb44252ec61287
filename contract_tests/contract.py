"""Reads openapi.yaml without any code of the service."""

from functools import cache
from typing import Any

import yaml

from contract_tests.harness import ROOT


@cache
def load_contract() -> dict[str, Any]:
    """The contract as an object. Do not change it."""
    # libyaml takes a fifth of the time, and each test process reads the contract.
    text = (ROOT / "openapi.yaml").read_bytes()
    document: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return document


def strict_text() -> str:
    """The contract without the response for every other error: a status that it does not list is a fault."""
    text = (ROOT / "openapi.yaml").read_text()
    other = "        default: {$ref: '#/components/responses/UnexpectedError'}\n"
    assert other in text
    return text.replace(other, "")


@cache
def error_codes() -> dict[int, str]:
    """The error code of each status, from the examples of the contract's errors."""
    examples = [
        example["value"]["error"]
        for response in load_contract()["components"]["responses"].values()
        for media in response.get("content", {}).values()
        if media["schema"] == {"$ref": "#/components/schemas/ErrorResponse"}
        for example in media["examples"].values()
    ]
    return {error["status"]: error["code"] for error in examples}
