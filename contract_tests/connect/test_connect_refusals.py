"""The server refuses a posted signup: each case has a page with a next step."""

import requests

from contract_tests.connect.conftest import NewLink
from contract_tests.connect.graph_proxy import HANG_UP, Fault, GraphProxy
from contract_tests.connect.visitor import Popup, Visit
from contract_tests.harness import WAIT_SECONDS, Gateway

PIN = "246810"


def _finish(visit: Visit, popup: Popup) -> int:
    """The last step. Returns the HTTP status of the next page."""
    with visit.page.expect_navigation() as navigation:
        popup.finish()
    answer = navigation.value
    assert answer is not None
    return answer.status


def _press(visit: Visit, name: str) -> int:
    with visit.page.expect_navigation() as navigation:
        visit.page.get_by_role("button", name=name).click()
    answer = navigation.value
    assert answer is not None
    return answer.status


def _guarded_number(gateway: Gateway, phone: str, name: str) -> None:
    """A number with two-step verification and a PIN."""
    made = gateway.sandbox_call("signup", phone=phone, display_name=name)
    graph = f"{gateway.sandbox}/v25.0"
    query = {"client_id": "100000000000001", "client_secret": "sandbox-app-secret"}
    token = requests.get(
        f"{graph}/oauth/access_token", params=query | {"code": made["code"]}, timeout=WAIT_SECONDS
    ).json()["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    body = {"messaging_product": "whatsapp", "pin": PIN}
    for action in ("register", "deregister"):
        answer = requests.post(
            f"{graph}/{made['phone_number_id']}/{action}",
            json=body,
            headers=headers,
            timeout=WAIT_SECONDS,
        )
        assert answer.ok, answer.text


def _choose_existing(visit: Visit, slug: str, name: str) -> Popup:
    popup = visit.open(slug).begin().log_in().choose_business(name)
    return popup.choose_number(name).allow()


def test_a_number_of_another_account_is_refused(
    visit: Visit, gateway: Gateway, new_link: NewLink
) -> None:
    first, second = new_link(), new_link(gateway.customer(with_number=False))
    visit.open(first.slug).begin().up_to_finish("15553003001", "Taken bakery").finish()
    visit.sees("connected")
    assert _finish(visit, _choose_existing(visit, second.slug, "Taken bakery")) == 409
    visit.sees("taken")
    assert second.numbers() == []
    # The link still works for another number.
    visit.page.get_by_role("link", name="Start again").click()
    visit.begin().up_to_finish("15553003002").finish()
    visit.sees("connected")
    assert [status for _, status in second.numbers()] == ["ACTIVE"]


def test_a_number_with_a_pin_is_connected_by_its_pin(
    visit: Visit, gateway: Gateway, new_link: NewLink
) -> None:
    link = new_link()
    _guarded_number(gateway, "15553003003", "Guarded bakery")
    assert _finish(visit, _choose_existing(visit, link.slug, "Guarded bakery")) == 422
    visit.sees("pin")
    visit.page.get_by_label("PIN").fill("111111")
    assert _press(visit, "Connect") == 422
    visit.sees("pin")
    assert "ACTIVE" not in dict(link.numbers()).values()
    visit.page.get_by_label("PIN").fill(PIN)
    assert _press(visit, "Connect") == 200
    visit.sees("connected")
    assert [status for _, status in link.numbers()] == ["ACTIVE"]


def test_turning_off_two_step_verification_makes_the_pin_unnecessary(
    visit: Visit, gateway: Gateway, new_link: NewLink
) -> None:
    link = new_link()
    _guarded_number(gateway, "15553003004", "Open bakery")
    popup = visit.open(link.slug).begin().log_in().choose_business("Open bakery")
    popup.choose_number("Open bakery", two_step_off=True).allow().finish()
    visit.sees("connected")


def test_a_temporary_refusal_can_be_tried_again(
    visit: Visit, proxy: GraphProxy, new_link: NewLink
) -> None:
    link = new_link()
    popup = visit.open(link.slug).begin().up_to_finish("15553010001")
    proxy.faults["/register"] = Fault(HANG_UP)
    assert _finish(visit, popup) == 503
    visit.sees("unreachable")
    assert _press(visit, "Try again") == 503
    assert "ACTIVE" not in dict(link.numbers()).values()
    proxy.faults.clear()
    assert _press(visit, "Try again") == 200
    visit.sees("connected")
    assert [status for _, status in link.numbers()] == ["ACTIVE"]


def test_a_permanent_refusal_starts_again_with_the_same_link(
    visit: Visit, proxy: GraphProxy, new_link: NewLink
) -> None:
    link = new_link()
    popup = visit.open(link.slug).begin().up_to_finish("15553020001")
    proxy.faults["/phone_numbers"] = Fault(400, 190, "<i>gone</i>")
    assert _finish(visit, popup) == 409
    assert "<i>gone</i> (code 190)" in visit.sees("blocked")
    assert "ACTIVE" not in dict(link.numbers()).values()
    proxy.faults.clear()
    visit.page.get_by_role("link", name="Start again").click()
    visit.begin().up_to_finish("15553021001").finish()
    visit.sees("connected")


def test_a_code_that_waited_too_long_is_refused(
    visit: Visit, gateway: Gateway, new_link: NewLink
) -> None:
    link = new_link()
    popup = visit.open(link.slug).begin().up_to_finish("15553003005")
    gateway.sandbox_call("clock", advance_seconds=31)
    assert _finish(visit, popup) == 422
    visit.sees("code-expired")
    assert link.numbers() == []


def test_a_link_that_was_revoked_meanwhile_connects_nothing(
    visit: Visit, gateway: Gateway, new_link: NewLink
) -> None:
    link = new_link()
    popup = visit.open(link.slug).begin().up_to_finish("15553003006")
    gateway.cli("signup-links", "revoke", link.id)
    assert _finish(visit, popup) == 410
    visit.sees("revoked")
    assert link.numbers() == []
