"""The sandbox accepts every documented kind of request, or refuses it as the platform documents."""

import json
from typing import Any

import pytest
import requests

from contract_tests.third_party.documented import LEFT_OUT, REQUESTS
from contract_tests.third_party.documented_messages import Request
from contract_tests.third_party.world import PNG, World
from sandbox_harness import APP_ID, VERIFY_TOKEN


def filled(text: str, world: World) -> str:
    """The text with the sandbox's identifiers in its placeholders. Creates only those that the text has."""
    business = world.business
    makers: dict[str, Any] = {
        "{number}": lambda: business.number_id,
        "{waba}": lambda: business.waba_id,
        "{business}": world.business_id,
        "{inbound}": world.inbound,
        "{media}": world.media_id,
        "{new}": world.new_number,
        "{free}": world.free_digits,
        "{qr}": world.qr_code,
        "{template}": world.template,
        "{other}": lambda: world.template("meat"),
        "{handle}": lambda: handle(world),
        "{receiver}": lambda: world.platform.receiver.url,
        "{verify_token}": lambda: VERIFY_TOKEN,
    }
    for name, make in makers.items():
        if name in text:
            text = text.replace(name, make())
    return text


def handle(world: World) -> str:
    """The identifier of an uploaded picture."""
    query = {"file_name": "a.png", "file_length": len(PNG), "file_type": "image/png"}
    session = world.business.graph("POST", f"{APP_ID}/uploads", params=query).json()["id"]
    headers = {"Authorization": f"OAuth {world.business.token}", "file_offset": "0"}
    answer = world.sandbox.call("POST", f"/v25.0/{session}", data=PNG, headers=headers)
    return str(answer.json()["h"])


def answer(world: World, request: Request) -> requests.Response:
    """The response of the sandbox."""
    if request.kind == "block":
        world.inbound()
    body = None if request.body is None else json.loads(filled(json.dumps(request.body), world))
    return world.business.graph(request.method, filled(request.path, world), body)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: each.kind)
def test_a_documented_request_is_accepted_or_refused(request_: Request, world: World) -> None:
    said = answer(world, request_)
    if request_.refused is None:
        assert said.status_code == 200, said.text
    else:
        assert said.json()["error"]["code"] == request_.refused, said.text
        assert said.status_code == 400


def test_each_kind_is_requested_once_and_each_omission_has_a_reason() -> None:
    kinds = [each.kind for each in REQUESTS]
    assert len(set(kinds)) == len(kinds)
    assert all(LEFT_OUT.values())
