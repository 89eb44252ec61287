"""Templates that are paused, and numbers whose quality falls, after so many messages."""

import pytest

from message_templates import STATUS, TEXT, approved, body, decide, send, shown, updates
from sandbox_harness import Business, Receiver, Sandbox
from test_limits import TEMPLATE, behave, code_of
from test_quality import QUALITY, node, notify


def codes(business: Business, count: int, name: str = "order_shipped") -> list[int | None]:
    """The error codes of so many sends of a template."""
    return [code_of(send(business, body(TEXT, TEXT), name=name)) for _ in range(count)]


def qualities(business: Business, count: int) -> list[str]:
    """The quality of the number after each of so many template messages."""
    found = []
    for _ in range(count):
        assert business.post(**TEMPLATE).ok
        found.append(str(node(business)["quality_rating"]))
    return found


def restart(sandbox: Sandbox) -> None:
    sandbox.kill()
    sandbox.start()


@pytest.mark.parametrize(("status", "code"), [("paused", 132015), ("disabled", 132016)])
def test_a_template_is_paused_in_the_middle(
    business: Business, receiver: Receiver, status: str, code: int
) -> None:
    template_id = approved(business)
    behave(business.sandbox, template_pause_after=3, template_pause_status=status)
    assert codes(business, 4) == [None, None, None, code]
    receiver.wait(lambda: len(updates(receiver, STATUS)) == 2)
    told = updates(receiver, STATUS)[-1]
    assert (told["event"], str(told["message_template_id"])) == (status.upper(), template_id)
    assert shown(business, template_id)["status"] == status.upper()


def test_a_resumed_template_is_paused_again(business: Business) -> None:
    template_id = approved(business)
    behave(business.sandbox, template_pause_after=2)
    assert codes(business, 3) == [None, None, 132015]
    decide(business, template_id, status="APPROVED")
    assert codes(business, 3) == [None, None, 132015]


def test_each_template_has_its_own_count(business: Business) -> None:
    approved(business)
    approved(business, name="another")
    behave(business.sandbox, template_pause_after=2)
    assert codes(business, 1) + codes(business, 1, "another") == [None, None]
    assert codes(business, 2) == [None, 132015]
    assert codes(business, 1, "another") == [None]


def test_refused_sends_do_not_count(business: Business) -> None:
    approved(business)
    behave(business.sandbox, template_pause_after=2)
    assert code_of(send(business, body(TEXT))) == 132000
    assert codes(business, 3) == [None, None, 132015]


def test_a_knob_that_is_on_later_counts_from_then_on(business: Business) -> None:
    approved(business)
    codes(business, 5)
    behave(business.sandbox, template_pause_after=2)
    assert codes(business, 3) == [None, None, 132015]


def test_the_counts_survive_a_kill(sandbox: Sandbox, business: Business) -> None:
    approved(business)
    behave(sandbox, template_pause_after=2, quality_falls_after=2)
    assert codes(business, 1) == [None]
    restart(sandbox)
    assert codes(business, 2) == [None, 132015]
    assert node(business)["quality_rating"] == "YELLOW"
    restart(sandbox)
    assert codes(business, 1) == [132015]
    assert node(business)["quality_rating"] == "YELLOW"


def test_the_quality_falls_in_two_steps(business: Business, receiver: Receiver) -> None:
    behave(business.sandbox, quality_falls_after=2)
    assert qualities(business, 5) == ["GREEN", "YELLOW", "YELLOW", "RED", "RED"]
    receiver.wait(lambda: bool(updates(receiver, QUALITY)))
    (told,) = updates(receiver, QUALITY)
    assert (told["event"], told["display_phone_number"]) == ("FLAGGED", business.digits)


def test_only_templates_lower_the_quality(business: Business) -> None:
    behave(business.sandbox, quality_falls_after=1)
    business.send()
    assert node(business)["quality_rating"] == "GREEN"


def test_another_number_keeps_its_quality(sandbox: Sandbox, business: Business) -> None:
    other = sandbox.connect(waba_id=business.waba_id)
    behave(sandbox, quality_falls_after=1)
    qualities(business, 1)
    assert node(other)["quality_rating"] == "GREEN"


def test_a_number_of_low_quality_is_refused_by_a_knob(business: Business) -> None:
    notify(business, field=QUALITY, value={"event": "FLAGGED"})
    assert business.post(**TEMPLATE).ok
    behave(business.sandbox, quality_limit=True)
    refused = business.post(**TEMPLATE)
    assert (refused.status_code, code_of(refused)) == (400, 131048)
    notify(business, field=QUALITY, value={"event": "UNFLAGGED"})
    assert business.post(**TEMPLATE).ok


def test_a_template_that_nobody_created_is_not_paused(business: Business) -> None:
    behave(business.sandbox, template_pause_after=1)
    assert [code_of(business.post(**TEMPLATE)) for _ in range(2)] == [None, None]
