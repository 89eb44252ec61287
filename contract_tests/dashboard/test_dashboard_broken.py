"""The dashboard during an outage of its database."""

import pytest

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.person import Person
from contract_tests.harness import Gateway, wait_for

PATH = "/dashboard/links?page=1"
LOGGED = "a page could not be loaded"


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


def test_a_list_that_cannot_be_read_says_so_and_keeps_its_place(
    gateway: Gateway, person: Person
) -> None:
    before = gateway.log().count(LOGGED)
    with gateway.stored.without("signup_link"):
        answer = person.get(PATH)
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert 'data-kind="broken"' in answer.text
    assert "nothing was changed" in answer.text
    assert f'href="{PATH}">Load again' in answer.text
    assert 'href="/dashboard/links" aria-current="page"' in answer.text
    assert "signup_link" not in answer.text
    assert person.get(PATH).status_code == 200
    wait_for(lambda: gateway.log().count(LOGGED) > before, "the line")
    assert gateway.log().count(LOGGED) == before + 1


def test_an_action_that_cannot_be_carried_out_leads_back_to_its_list(
    gateway: Gateway, person: Person
) -> None:
    token = person.token("/dashboard/links")
    with gateway.stored.without("signup_link"):
        answer = person.post("/dashboard/links", None, csrf_token=token, slug="not-made")
    assert answer.status_code == 503
    assert 'data-kind="broken"' in answer.text
    assert "nothing was changed" not in answer.text
    assert 'href="/dashboard/links">Load again' in answer.text
    assert "not-made" not in person.get("/dashboard/links").text
