"""The pages of numbers and messages show the network's reasons and codes."""

import json
from typing import Any

from markupsafe import escape

from models.database import writing
from models.messages.message import MessageStatus
from models.numbers.number import Number, NumberAlias, NumberStatus
from networks.registry import explained
from tests import factories
from tests.conftest import Clock
from tests.dashboard.conftest import Visit


def test_a_banned_number_says_why_beside_its_quality_and_limit(
    number: Number, visit: Visit
) -> None:
    assert visit(f"numbers/{number.id}").count("not known yet") == 3
    with writing():
        number.update_details(quality_rating="RED", messaging_limit="TIER_250")
        number.move_to(NumberStatus.BANNED, reason="ACCOUNT_VIOLATION SCAM")
    page = visit(f"numbers/{number.id}")
    for said in ("low", "250 people in 24 hours", "violated a policy: scam."):
        assert said in page
    assert "violated a policy: scam." in visit("numbers")


def test_pages_of_a_merged_number_are_those_of_the_number_that_stays(
    number: Number, visit: Visit
) -> None:
    gone, contact = "num_01M8MDZ34JC2PAE3RTPZPK7G1C", factories.contact(number, name="Ana")
    message = factories.inbound(number)
    assert message is not None
    with writing():
        NumberAlias.note(number, gone, None)
    for path in ("", "/templates"):
        assert visit(f"numbers/{gone}{path}")
    visit(f"search?q={gone}", 303)
    for path, shown in (
        ("inbox", message.contact_id),
        ("messages", message.id),
        ("contacts", contact.id),
    ):
        assert str(shown) in visit(f"{path}?number_id={gone}")


def test_a_notice_of_a_template_names_it(number: Number, visit: Visit) -> None:
    told = {"event": "APPROVED", "message_template_name": "order_shipped"}
    told["message_template_language"] = "en_US"
    with writing():
        factories.notice("message_template_status_update", told)
        factories.notice("account_alerts", {"alert_type": "OBA_APPROVED"})
    page = visit(f"numbers/{number.id}")
    assert "approved</strong> order_shipped (en_US)" in page


def test_a_number_shows_restrictions_with_their_end_and_limits_of_the_business(
    number: Number, visit: Visit
) -> None:
    limits = {"conversations_of_number": -1, "numbers_of_business": 20, "numbers_of_account": None}
    until = {"type": "RESTRICTED_ADD_PHONE_NUMBER_ACTION", "until": 1_795_426_200_000}
    notice: dict[str, Any] = {"field": "x", "event": "y", "description": None, "at": 1}
    notice |= {"restrictions": [until], "limits": limits}
    with writing():
        number.update_details(notice_json=json.dumps(notice))
    page = visit(f"numbers/{number.id}")
    assert "restricted add phone number action until 2026-11-23 09:30 UTC" in page
    assert "<dd>no limit</dd>" in page
    assert "<dd>at most 20</dd>" in page
    assert "Numbers of the business account</dt>" not in page


def test_a_failed_message_says_what_its_code_means(
    number: Number, clock: Clock, visit: Visit
) -> None:
    message = factories.outbound(number)
    with writing():
        message.advance(MessageStatus.FAILED, at=clock.at, error=("131047", "Re-engagement"))
    page = visit(f"messages/{message.id}")
    assert page.count(str(escape(explained("131047", "Re-engagement")))) == 2


def test_a_number_without_its_callbacks_names_the_command(number: Number, visit: Visit) -> None:
    command = f"gateway numbers subscribe {number.id}"
    assert command not in visit(f"numbers/{number.id}")
    with writing():
        number.update_details(problems_json='[{"code": "fields_missing", "detail": "x_update"}]')
    page = visit(f"numbers/{number.id}")
    assert command in page
    assert "x_update" in page
