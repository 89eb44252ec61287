"""What a key that is limited to a number reads of the account's other numbers: nothing.

The operations are those of the contract. Both numbers belong to one business account, so they share
templates.
"""

import json
import secrets
from dataclasses import dataclass, replace
from typing import Any

import pytest

from contract_tests.conformance.exchange import Api, Contract
from contract_tests.conformance.operations import PROTECTED, Operation, name_of
from contract_tests.conformance.test_conformance_ownership import (
    NEW_BROADCAST,
    REFERENCES,
    Reference,
    ask,
)
from contract_tests.conformance.test_conformance_ownership import name_of as name_of_reference
from contract_tests.conformance.world import Sandbox, new_recipient
from contract_tests.contract import load_contract
from contract_tests.event_reader import events, opened
from contract_tests.harness import Customer, Gateway, wait_for

PATHS = load_contract()["paths"]
READS = [
    each
    for each in PROTECTED
    if each.method == "GET" and "x-account-wide" not in PATHS[each.path]["get"]
]
# Every number of the account has records in these.
WHOLE = [each for each in READS if "{" not in each.path or each.id == "listTemplates"]
OF_A_NUMBER = ("number", "message", "contact", "broadcast")


@dataclass(frozen=True)
class Numbers:
    """An account with two numbers, a key for the first one, and identifiers of records of each."""

    owner: Customer
    limited: Customer
    own: dict[str, str]
    other: dict[str, str]
    # What only records of the other number contain.
    foreign: frozenset[str]


@pytest.fixture(scope="module")
def numbers(gateway: Gateway) -> Numbers:
    """The account, after each number sent a message and the other one created a template."""
    owner, sandbox = gateway.customer(with_number=False), Sandbox(gateway.sandbox)
    claims = [sandbox.sign_up()]
    claims.append(sandbox.sign_up(waba_id=claims[0]["waba_id"]))
    first, second = (_connected(gateway, owner, claim) for claim in claims)
    other = _records(replace(owner, number=second), sandbox)
    _create_template(owner, f"/numbers/{second['id']}/templates")
    # Last: a stream is read up to the event about this message.
    own = _records(replace(owner, number=first), sandbox)
    limits = ("--number", str(first["id"]))
    limited = replace(owner, key=gateway.cli("keys", "create", owner.account_id, *limits)["key"])
    foreign = frozenset({*other.values(), second["phoneNumber"]})
    return Numbers(owner, limited, own, other, foreign)


def _connected(gateway: Gateway, owner: Customer, claim: dict[str, str]) -> Any:
    slug = f"two-{secrets.token_hex(4)}"
    exact = ("--slug", slug, "--exact", "--yes")
    gateway.cli("signup-links", "create", owner.account_id, *exact)
    return owner.request("POST", f"/signup/{slug}/complete", json=claim).json()


def _records(customer: Customer, sandbox: Sandbox) -> dict[str, str]:
    """Identifiers of a number and its records. Waits until its message is counted."""
    person, number_id = new_recipient(), customer.number["id"]
    sandbox.write(customer.number["phoneNumber"], person)
    sent = customer.send(person).json()["id"]

    def counted() -> list[dict[str, Any]]:
        found = customer.request("GET", "/usage", params={"numberId": number_id}).json()["data"]
        return [each for each in found if each["direction"] == "OUTBOUND"]

    wait_for(counted, "a total of the number")
    [contact] = customer.request("GET", "/contacts", params={"phone": person}).json()["data"]
    recipients = {"numberId": number_id, "recipients": [{"to": person}]}
    draft = customer.request("POST", "/broadcasts", json=NEW_BROADCAST | recipients).json()
    return {
        "number": number_id,
        "message": sent,
        "contact": contact["id"],
        "person": person,
        "broadcast": draft["id"],
        "file": _upload(customer),
    }


def _upload(customer: Customer) -> str:
    """A file of recipients."""
    files = {"file": ("people.csv", "to\n15551230009\n")}
    return str(customer.request("POST", "/broadcasts/files", files=files).json()["id"])


def _create_template(customer: Customer, path: str, key: str | None = None) -> dict[str, Any]:
    body = [{"type": "BODY", "text": "It has shipped."}]
    # A request with the same key is the same request.
    name = f"t_{key or secrets.token_hex(4)}"
    template = {"name": name, "language": "en_US", "category": "UTILITY", "components": body}
    headers = {} if key is None else {"Idempotency-Key": key}
    answer = customer.request("POST", path, json=template, headers=headers)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def _approved(customer: Customer, path: str, name: str) -> None:
    """Wait for the platform's review."""
    wanted = {"name": name, "status": "APPROVED"}
    wait_for(
        lambda: customer.request("GET", path, params=wanted).json()["data"], "an approved template"
    )


def _read(customer: Customer, operation: Operation, own: dict[str, str]) -> str:
    """All that the operation shows of the records of a number, or of the account."""
    if operation.id == "streamEvents":
        return _streamed(customer, own["message"])
    path = operation.filled(**{f"{name}_id": value for name, value in own.items()})
    answer = customer.request("GET", path)
    # The message has no file.
    assert answer.status_code == (409 if operation.id == "downloadMedia" else 200), answer.text
    return answer.text


def _streamed(customer: Customer, last: str) -> str:
    """All events up to the first one about a message."""
    seen = []
    with opened(customer, "0-") as stream:
        for event in events(stream):
            seen.append(str(event))
            if event["data"]["id"] == last:
                break
    return "\n".join(seen)


@pytest.mark.parametrize("operation", READS, ids=name_of)
def test_a_key_of_a_number_reads_nothing_of_another(numbers: Numbers, operation: Operation) -> None:
    shown = _read(numbers.limited, operation, numbers.own)
    assert [each for each in numbers.foreign if each in shown] == []
    if '"pagination"' in shown:
        page = json.loads(shown)
        # The platform does not count the people whom a number has blocked.
        assert page["pagination"].get("total", len(page["data"])) == len(page["data"])


@pytest.mark.parametrize("operation", WHOLE, ids=name_of)
def test_a_key_without_limits_reads_of_both(numbers: Numbers, operation: Operation) -> None:
    """Otherwise the test above could not fail."""
    shown = _read(numbers.owner, operation, numbers.own)
    assert [each for each in numbers.foreign if each in shown]


OF_NUMBERS = [each for each in REFERENCES if each.kind in OF_A_NUMBER]


@pytest.mark.parametrize("reference", OF_NUMBERS, ids=name_of_reference)
def test_a_key_of_a_number_reaches_no_record_of_another(
    numbers: Numbers, contract: Contract, reference: Reference
) -> None:
    limited = Api(numbers.limited.api, numbers.limited.key, contract)
    ask(limited, reference, numbers.other[reference.kind], 403)


def test_a_key_of_a_number_gets_no_other_number_with_the_template_that_it_creates(
    numbers: Numbers,
) -> None:
    """Neither with the response that another key got first, nor with that of a change."""
    path, own = f"/numbers/{numbers.own['number']}/templates", [numbers.own["number"]]
    both = {*own, numbers.other["number"]}
    alone = _create_template(numbers.limited, path)
    assert alone["numberIds"] == own
    first = _create_template(numbers.owner, path, key="once")
    again = _create_template(numbers.limited, path, key="once")
    assert (set(first["numberIds"]), again) == (both, first | {"numberIds": own})
    _approved(numbers.limited, path, alone["name"])
    changes = {"components": [{"type": "BODY", "text": "It is here."}]}
    edited = numbers.limited.request("PATCH", f"{path}/{alone['id']}", json=changes)
    assert (edited.status_code, edited.json()["numberIds"]) == (200, own)
