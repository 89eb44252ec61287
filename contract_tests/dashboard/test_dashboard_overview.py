"""The overview's use of the limit and its ways on; long lists; refused methods; the log's account."""

import json
from typing import Any

import pytest

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.person import Person
from contract_tests.harness import Customer, Gateway, wait_for
from dashboard.paging import PER_PAGE


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


def test_the_overview_says_how_much_of_the_limit_is_used_without_using_it(
    gateway: Gateway, enrol: Enrol
) -> None:
    customer = gateway.customer("starter", with_number=False)
    person = enrol(customer.account_id).signed_in()
    assert "0 of 100000" in person.get("/dashboard/").text
    answer = [customer.request("GET", "/numbers") for _ in range(3)][-1]
    assert answer.headers["X-RateLimit-Remaining"] == "99997"
    for _ in range(2):
        shown = person.get("/dashboard/").text
        assert "3 of 100000" in shown
        assert "starter" in shown
        assert "The minute ends in" in shown


def test_the_overviews_figures_lead_to_their_lists(person: Person, owner: Customer) -> None:
    hook = {"url": "http://127.0.0.1:9/x", "events": ["message.sent"]}
    made = owner.request("POST", "/webhooks", json=hook).json()
    owner.request("PATCH", f"/webhooks/{made['id']}", json={"active": False})
    shown = person.get("/dashboard/").text.partition("<main")[2]
    for path in ("numbers", "messages", "deliveries", f"webhooks/{made['id']}"):
        assert f'href="/dashboard/{path}"' in shown


@pytest.mark.parametrize(("path", "field"), [("keys", "name"), ("links", "slug")])
def test_a_long_list_has_pages(gateway: Gateway, enrol: Enrol, path: str, field: str) -> None:
    person = enrol(gateway.customer(with_number=False).account_id).signed_in()
    address = f"/dashboard/{path}"
    token = person.token(address)
    for count in range(PER_PAGE + 1):
        person.post(address, None, csrf_token=token, **{field: f"{field}-of-the-list-{count}-"})
    first, second = person.get(address).text, person.get(f"{address}?page=2").text
    assert f"1 to {PER_PAGE} of " in first
    assert f"{field}-of-the-list-{PER_PAGE}-" in first
    assert f"{field}-of-the-list-0-" not in first
    assert f"{field}-of-the-list-0-" in second
    assert f"{PER_PAGE + 1} to " in second
    beyond = person.get(f"{address}?page=3")
    assert beyond.status_code == 200
    assert "There is no page 3." in beyond.text


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/dashboard/", "GET, HEAD, OPTIONS"),
        ("POST", "/dashboard/numbers", "GET, HEAD, OPTIONS"),
        ("DELETE", "/dashboard/keys", "GET, HEAD, OPTIONS, POST"),
        ("GET", "/dashboard/sign-out", "OPTIONS, POST"),
    ],
)
def test_a_refused_method_is_told_the_ones_that_are_allowed(
    person: Person, method: str, path: str, allowed: str
) -> None:
    answer = person.jar.request(method, person.url + path, timeout=20)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == allowed


def test_the_line_of_a_request_names_the_account_of_the_session(
    gateway: Gateway, person: Person, owner: Customer
) -> None:
    answer = person.get("/dashboard/links?page=7")
    line = wait_for(lambda: _line(gateway, answer.headers["X-Request-Id"]), "the request's line")
    assert line["path"] == "/dashboard/links"
    assert line["account_id"] == owner.account_id


def _line(gateway: Gateway, request_id: str) -> dict[str, Any] | None:
    for text in gateway.log().splitlines():
        if request_id in text and text.endswith("}"):
            line: dict[str, Any] = json.loads(text[text.index("{") :])
            if line["message"] == "request":
                return line
    return None
