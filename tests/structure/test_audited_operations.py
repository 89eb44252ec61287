"""Each operation that writes leaves a row in the audit log, or is listed here with a reason."""

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gateway.api import contract
from gateway.api.app import handler_of
from models.accounts.account import Account
from models.accounts.actor import Actor, ActorKind, acting
from models.accounts.audit import Audit
from models.deliveries.delivery import Delivery, DeliveryState
from models.numbers.number import Number
from models.numbers.signup import SignupLink
from networks.interface import BlockedPage, BlockResult, BusinessProfile, Sender
from services import consent, network_failures, onboarding, templates
from tests import factories
from tests.fake_platform import CODE, WABA, Platform
from tests.fake_templates import BODY, definition
from tests.fake_templates import Network as TemplateNetwork
from tests.forms import form_with

READING = {"get", "head", "parameters"}
# The first row of each operation. The test runs them all.
ACTIONS = {
    "blockPeople": "number.people_blocked",
    "cancelBroadcast": "broadcast.cancel",
    "completeSignup": "link.used",
    "createBroadcast": "broadcast.created",
    "createSuppression": "suppression.added",
    "createTemplate": "template.created",
    "createWebhook": "webhook.created",
    "deleteContact": "contact.erased",
    "deleteSuppression": "suppression.removed",
    "deleteTemplate": "template.deleted",
    "deleteWebhook": "webhook.deleted",
    "importSuppressions": "suppressions.imported",
    "pauseBroadcast": "broadcast.pause",
    "redeliverDelivery": "delivery.redelivered",
    "redeliverWebhookDeliveries": "deliveries.redelivered",
    "resumeBroadcast": "broadcast.resume",
    "rotateWebhookSecret": "webhook.secret_rotated",
    "startBroadcast": "broadcast.start",
    "testWebhook": "webhook.tested",
    "unblockPerson": "number.people_unblocked",
    "updateContact": "contact.note_changed",
    "uploadRecipients": "recipients.uploaded",
    "updateNumberProfile": "number.profile_changed",
    "updateTemplate": "template.changed",
    "updateWebhook": "webhook.changed",
}
WITHOUT_A_ROW = {
    "testBroadcast": "It sends a message, like sendMessage.",
    "sendMessage": "The message itself is the record, and a send writes nothing more than it needs.",
    "markMessageRead": "It changes nothing in the account.",
    "refreshTemplates": "It changes only the copy of what the network has.",
    "uploadMedia": "The file is at the network and in no account until a message has it.",
}
PERSON, NOTE, QUERY = "15551234567", "a note about a person", "token-of-the-receiver"
KEY = Actor(ActorKind.KEY, "key_1", "shop", "192.0.2.1")
URL = f"http://127.0.0.1:9/hook?key={QUERY}"


class Network(TemplateNetwork):
    """A network with templates, a profile and blocked people."""

    async def get_profile(self, _sender: Sender) -> BusinessProfile:
        return BusinessProfile("Old", None, None, None, None, None)

    async def update_profile(self, _sender: Sender, changes: Mapping[str, Any]) -> None:
        assert changes

    async def list_blocked(
        self, sender: Sender, limit: int, after: str | None = None
    ) -> BlockedPage:
        raise NotImplementedError

    async def block(self, _sender: Sender, people: Sequence[str]) -> BlockResult:
        return BlockResult(tuple(people), {})

    unblock = block


def _writing_operations() -> set[str]:
    items = contract.load()["paths"].values()
    return {item[method]["operationId"] for item in items for method in item.keys() - READING}


def test_every_operation_that_writes_has_a_row_or_a_reason() -> None:
    listed = ACTIONS.keys() | WITHOUT_A_ROW.keys()
    assert _writing_operations() == listed, "add it to ACTIONS and requests(), or to WITHOUT_A_ROW"
    assert not ACTIONS.keys() & WITHOUT_A_ROW.keys()


@pytest.fixture
def requests(
    account: Account, number: Number, monkeypatch: pytest.MonkeyPatch
) -> dict[str, dict[str, Any]]:
    """What each operation needs."""
    network = Network(definition("hello"))
    for module in (network_failures, templates):
        monkeypatch.setattr(module, "network_of", lambda _: network)
    platform = Platform()
    monkeypatch.setattr(onboarding, "get_network", lambda: platform)
    hook = factories.webhook(account, URL)
    [delivery] = factories.deliveries(account, hook)
    Delivery.update(state=DeliveryState.FAILED).execute()
    contact_id = str(factories.outbound(number, PERSON).contact_id)
    suppressed, _ = consent.suppress(account.id, "15559996666", None, None)
    claim = {"code": CODE, "phone_number_id": "1000", "waba_id": WABA}
    template = {"name": "sale", "language": "de", "category": "MARKETING", "components": [BODY]}
    of_number = {"user": account.id, "number_id": number.id}
    broadcast = factories.broadcast(number, PERSON)
    of_broadcast = {"user": account.id, "broadcast_id": broadcast.id}
    running = {"user": account.id, "broadcast_id": factories.started(number, PERSON).id}
    paused = {"user": account.id, "broadcast_id": factories.paused(number, PERSON).id}
    of_webhook = {"user": account.id, "webhook_id": hook.id}
    of_contact = {"user": account.id, "contact_id": contact_id}
    return {
        "blockPeople": of_number | {"payload": {"people": [PERSON]}},
        "cancelBroadcast": of_broadcast,
        "startBroadcast": of_broadcast,
        "pauseBroadcast": running,
        "resumeBroadcast": paused,
        "createBroadcast": {
            "user": account.id,
            "payload": {
                "name": "Late opening",
                "numberId": number.id,
                "type": "text",
                "text": {"body": NOTE},
                "recipients": [{"to": PERSON}],
            },
        },
        "completeSignup": {"slug": SignupLink.open(account, "acme").slug, "payload": claim},
        "createSuppression": {"user": account.id, "payload": {"person": "15559998888"}},
        "createTemplate": of_number | {"payload": template},
        "createWebhook": {
            "user": account.id,
            "payload": {"url": URL, "events": ["message.sent"]},
        },
        "deleteContact": of_contact,
        "deleteSuppression": {"user": account.id, "suppression_id": suppressed.id},
        "deleteTemplate": of_number | {"name": "hello"},
        "deleteWebhook": of_webhook,
        "importSuppressions": {"user": account.id, "payload": form_with(b"person\n15559997777")},
        "uploadRecipients": {"user": account.id, "payload": form_with(b"to\n15559997777")},
        "redeliverDelivery": {"user": account.id, "delivery_id": delivery.id},
        "redeliverWebhookDeliveries": of_webhook | {"payload": {}},
        "rotateWebhookSecret": of_webhook,
        "testWebhook": of_webhook | {"payload": None},
        "unblockPerson": of_number | {"person": PERSON},
        "updateContact": of_contact | {"payload": {"note": NOTE}},
        "updateNumberProfile": of_number | {"payload": {"about": "New"}},
        "updateTemplate": of_number | {"template_id": "501", "payload": {"category": "UTILITY"}},
        "updateWebhook": of_webhook | {"payload": {"events": ["message.sent"]}},
    }


@pytest.mark.parametrize("operation_id", sorted(ACTIONS))
def test_an_operation_leaves_its_row_with_the_key_and_the_address(
    operation_id: str, account: Account, requests: dict[str, dict[str, Any]]
) -> None:
    with acting(KEY):
        answer = handler_of(operation_id)(**requests[operation_id])
        if inspect.iscoroutine(answer):
            answer = asyncio.run(answer)
    rows = [row for row in Audit.all(account.id) if row.address == KEY.address]
    assert rows[0].action == ACTIONS[operation_id]
    if operation_id == "completeSignup":
        # Its actor is the owner of the number, who has the link.
        assert {row.actor.kind for row in rows} == {ActorKind.SIGNUP_LINK}
    else:
        assert [row.actor for row in rows] == [KEY]
    _check_secrecy(rows, answer)


def _check_secrecy(rows: list[Audit], answer: Any) -> None:
    """Neither a secret nor the data of a person is in a row."""
    text = json.dumps([[row.subject, row.before, row.after] for row in rows])
    secrets = [PERSON, NOTE, QUERY, CODE, "whsec_"]
    if isinstance(answer, tuple) and isinstance(answer[0], dict) and "secret" in answer[0]:
        secrets.append(answer[0]["secret"])
    assert [word for word in secrets if word in text] == []


def test_a_webhook_that_is_sent_elsewhere_has_both_addresses_in_its_row(account: Account) -> None:
    hook = factories.webhook(account, URL)
    other = {"url": "http://127.0.0.1:9/other", "active": False}
    handler_of("updateWebhook")(account.id, hook.id, other)
    changed, disabled = Audit.all(account.id)
    assert changed.before == {"url": "http://127.0.0.1:9/hook?****"}
    assert changed.after == {"url": "http://127.0.0.1:9/other"}
    assert disabled.action == "webhook.disabled"
    handler_of("updateWebhook")(account.id, hook.id, other)
    assert len(Audit.all(account.id)) == 2


def test_a_changed_query_of_an_address_is_a_change_without_its_value(account: Account) -> None:
    hook = factories.webhook(account, URL)
    handler_of("updateWebhook")(account.id, hook.id, {"url": f"{URL}-2"})
    [row] = Audit.all(account.id)
    assert row.after == {"query": "changed"}


def test_changed_headers_are_a_change_without_their_values(account: Account) -> None:
    hook = factories.webhook(account, URL)
    for value in ("first-hidden", "second-hidden", "second-hidden"):
        headers = [{"name": "X-Token", "value": value}]
        handler_of("updateWebhook")(account.id, hook.id, {"headers": headers})
    first, second = Audit.all(account.id)
    assert first.after == {"headerNames": ["X-Token"], "headers": "changed"}
    assert second.after == {"headers": "changed"}
