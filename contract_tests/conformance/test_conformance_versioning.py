"""Versioning: the contract has a version, and the service serves it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import yaml

from contract_tests.conformance.exchange import Contract, check_rate_limit
from contract_tests.conformance.operations import VERBS
from contract_tests.harness import ROOT, Gateway

SEMANTIC = re.compile(r"\d+\.\d+\.\d+", re.ASCII)


def fetch(gateway: Gateway, name: str) -> requests.Response:
    """The contract, as the public reads it."""
    answer = requests.get(f"{gateway.api}/{name}", timeout=5)
    assert answer.status_code == 200
    check_rate_limit(answer)
    return answer


def test_the_contract_is_served_unchanged_except_for_the_address(gateway: Gateway) -> None:
    """Including comments and order. The server's default host is this gateway, so that clients find it."""
    answer = fetch(gateway, "openapi.yaml")
    assert answer.headers["Content-Type"] == "application/yaml"
    written = (
        (ROOT / "openapi.yaml").read_text().replace("127.0.0.1:8080", f"127.0.0.1:{gateway.port}")
    )
    assert answer.text == written


def test_the_contract_is_served_as_json_too(gateway: Gateway) -> None:
    """The same document."""
    answer = fetch(gateway, "openapi.json")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == yaml.safe_load(fetch(gateway, "openapi.yaml").content)


def test_the_contract_has_a_semantic_version(contract: Contract) -> None:
    """The version is info.version."""
    assert SEMANTIC.fullmatch(contract.document["info"]["version"])


def test_the_contract_names_the_base_address(contract: Contract) -> None:
    """Its path ends in /api."""
    assert [server["url"] for server in contract.document["servers"]] == ["{scheme}://{host}/api"]


def test_the_contract_can_be_tried_out_in_a_browser(gateway: Gateway) -> None:
    """Swagger UI, which reads the served contract."""
    answer = requests.get(f"{gateway.api}/ui/", timeout=5)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "openapi.json" in answer.text


def operations(contract: Contract) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method and description of each operation, without the parameters shared by a path."""
    for path, item in contract.document["paths"].items():
        for verb in sorted(item.keys() & VERBS):
            yield path, verb, item[verb]


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_every_operation_describes_the_errors_that_any_request_may_get(
    contract: Contract, status: int
) -> None:
    """The contract lists the errors that a client must expect."""
    for path, verb, operation in operations(contract):
        is_public = operation.get("security") == []
        if not (status == 401 and is_public):
            assert str(status) in operation["responses"], f"{verb} {path}"


def test_every_described_response_has_the_three_headers(contract: Contract) -> None:
    """'Rate limit headers appear on every response': in the contract too."""
    shared = contract.document["components"]["responses"]
    for _, _, operation in operations(contract):
        for response in operation["responses"].values():
            name = response.get("$ref", "").rpartition("/")[2]
            described = shared[name] if name else response
            assert {h for h in described["headers"] if h.startswith("X-RateLimit-")} == {
                "X-RateLimit-Limit",
                "X-RateLimit-Remaining",
                "X-RateLimit-Reset",
            }
