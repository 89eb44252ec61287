"""The code renders resources as the contract describes them."""

import asyncio
import json
from typing import Any

import orjson
import pytest
from openapi_schema_validator import OAS30Validator

from gateway.api import contract
from handlers import deliveries, messages, numbers, signup, suppressions, templates, usage, webhooks
from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import record_outcomes
from models.deliveries.claim import Terms
from models.deliveries.event import Event, identified
from models.messages.message import Message
from models.messages.template import Template
from models.numbers.number import Number, NumberStatus
from models.numbers.signup import SignupLink
from models.reports.usage import UsageCount, counting
from networks.interface import Acceptance
from networks.items import StatusUpdate
from resources.error import STATUS, error_text
from resources.message import message_object
from resources.number import number_object
from resources.sample import sample_event
from resources.suppression import suppression_object
from resources.template import template_object
from resources.webhook import webhook_object
from services import consent, message_status, sending
from tests import factories
from tests.asgi import content_of
from tests.factories import claim_due
from tests.fake_templates import definition, known
from webhooks.kinds import EventKind

CONTRACT = contract.load()


def check_shape(schema: str, rendered: Any) -> None:
    """Assert that the value matches the schema and has no other property."""
    wanted = {"allOf": [{"$ref": f"#/components/schemas/{schema}"}]}
    errors = OAS30Validator({**wanted, "components": CONTRACT["components"]}).iter_errors(rendered)
    assert [error.message for error in errors] == []
    properties = CONTRACT["components"]["schemas"][schema].get("properties")
    if properties is not None:
        assert rendered.keys() <= properties.keys()


def test_a_number_is_the_contracts(account: Account, number: Number) -> None:
    check_shape("ConnectedNumber", number_object(number))
    check_shape(
        "ConnectedNumber", number_object(factories.provision(account, "1002", display_name=""))
    )
    with writing():
        number.update_details(notice_json='{"field":"f","event":"e","description":null,"at":1}')
        number.move_to(NumberStatus.BANNED, reason="Spam")
    assert number_object(number)["statusReason"] == "Spam"
    check_shape("ConnectedNumber", number_object(number))
    check_shape("NumberPage", numbers.list_numbers(account.id, limit=20, offset=0))


def _as_sent(value: Any) -> Any:
    """The object of a handler as a client gets it."""
    return orjson.loads(orjson.dumps(value))


def test_a_message_in_any_state_matches_the_contract(account: Account, number: Number) -> None:
    sent, failed = factories.outbound(number), factories.outbound(number)
    factories.outbound(number)
    factories.inbound(number)
    with writing():
        message_status.record_acceptance(sent, Acceptance("wamid.1"))
        update = StatusUpdate("1001", "wamid.2", "failed", failed.id, (("131026", "No."),), 1)
        assert message_status.record_status(
            update, message_status.SentMessages([update]), UsageCount()
        )
    for message in Message.select():
        check_shape("Message", message_object(message))
        check_shape("MessageDetail", _as_sent(messages.get_message(account.id, message.id)))
        if message.wa_message_id and message.direction == "OUTBOUND":
            check_shape("SentMessage", json.loads(sending.sent_response(message)))
    page = messages.list_messages(account.id, limit=20, offset=0)
    check_shape("MessagePage", json.loads(content_of(page)))


def test_a_suppression_is_the_contracts(account: Account) -> None:
    consent.suppress(account.id, "15551234567", None, "asked")
    row, is_new = consent.suppress(account.id, "US.1", None, None)
    assert is_new
    check_shape("Suppression", suppression_object(row, account))
    check_shape("SuppressionPage", suppressions.list_suppressions(account.id, 20, 0))


def test_usage_is_the_contracts(account: Account, number: Number) -> None:
    message = factories.inbound(number)
    assert message is not None
    with writing(), counting() as count:
        count.add(message)
    page = usage.list_usage(account.id, limit=20, offset=0)
    check_shape("UsagePage", page)
    [total] = page["data"]
    check_shape("UsageTotal", total)


@pytest.mark.parametrize("status", ["APPROVED", "INVENTED"])
def test_a_template_is_the_contracts(number: Number, status: str) -> None:
    known(number, definition(status=status, quality_score="GREEN", rejected_reason="SCAM"))
    [row] = Template.search(number, 20, 0).rows
    check_shape("Template", template_object(row, [number.id]))
    page = asyncio.run(templates.list_templates(number.account_id, number.id, 20, 0))
    check_shape("TemplatePage", json.loads(content_of(page)))


def test_a_webhook_is_the_contracts(account: Account, number: Number) -> None:
    webhook = factories.webhook(account, "https://example.com/hook", number_ids=[number.id])
    check_shape("Webhook", webhook_object(webhook))
    check_shape("Webhook", webhook_object(webhook, secret=webhook.secret))
    check_shape("WebhookPage", webhooks.list_webhooks(account.id, limit=20, offset=0))


def test_a_delivery_in_any_state_matches_the_contract(account: Account) -> None:
    webhook = factories.webhook(account)
    inactive = factories.webhook(account, active=False)
    sample = sample_event(EventKind.NUMBER_BANNED, 1_795_167_000_000)
    made = factories.deliveries(account, webhook, inactive, count=4)
    with writing():
        Event.update(payload=sample).execute()
    succeeding, failing, retried = claim_due(3, Terms(10, 1000))
    record_outcomes([factories.success(succeeding), factories.failure(failing)], lambda _: None, 9)
    record_outcomes([factories.failure(retried)], lambda _: 30, 9)
    claim_due(1, Terms(10, 1000))
    shown = [_as_sent(deliveries.get_delivery(account.id, row.id)) for row in made]
    assert {one["state"] for one in shown} == {"pending", "delivered", "failed", "skipped"}
    for one in shown:
        check_shape("DeliveryDetail", one)
        for attempt in one["attempts"]:
            check_shape("Attempt", attempt)
    page = deliveries.list_webhook_deliveries(account.id, webhook.id, limit=20, offset=0)
    check_shape("DeliveryPage", page)


def test_a_signup_link_is_the_contracts(account: Account) -> None:
    check_shape("SignupLink", signup.get_signup_link(SignupLink.open(account, "acme").slug))


@pytest.mark.parametrize("kind", EventKind)
def test_an_event_is_the_contracts(kind: EventKind) -> None:
    schema = "".join(part.capitalize() for part in kind.split(".")) + "Event"
    check_shape(schema, json.loads(identified("evt_1", sample_event(kind, 1_795_167_000_000))))


@pytest.mark.parametrize("code", STATUS)
def test_an_error_is_the_contracts(code: str) -> None:
    check_shape("ErrorResponse", json.loads(error_text(code, "What is wrong.", {})))
