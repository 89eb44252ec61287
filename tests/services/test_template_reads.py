"""A copy of a template never refuses a send by itself: the template is read from the network first."""

import asyncio
import json
import time
from typing import Any

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries.event import Event
from models.errors import ConflictError, InvalidError
from models.messages.contact import Contact
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message
from models.messages.template import Template, TemplateList
from models.numbers.number import Number
from networks import exceptions
from networks.interface import Sender, TemplateDefinition
from services import sending, template_reads
from services.telemetry import request_fields
from tests import factories
from tests.conftest import Clock
from tests.fake_templates import BODY, Network, definition, known

TEXT = {"type": "text", "text": "Ana"}
ONE = {"type": "BODY", "text": "Hello {{1}}."}
TO = "15551234567"


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """The network of sends and reads, with one template."""
    network = Network(definition())
    for module in (sending, template_reads):
        monkeypatch.setattr(module, "network_of", lambda _: network)
    monkeypatch.setattr(template_reads, "_begun", {})
    return network


def _body(number: Number, parameters: int = 2, **changes: Any) -> dict[str, Any]:
    filled = [{"type": "body", "parameters": [TEXT] * parameters}]
    content = {"name": "order_shipped", "language": {"code": "en_US"}, "components": filled}
    template = content | changes
    return {"number_id": number.id, "to": TO, "type": "template", "template": template}


def _send(number: Number, parameters: int = 2, key: str | None = None, **changes: Any) -> int:
    body = _body(number, parameters, **changes)
    return asyncio.run(sending.send(number.account_id, body, key)).status


def _reads(network: Network) -> list[Any]:
    return [each for each in network.asked if each not in network.sent]


def _told() -> list[tuple[str, str, str]]:
    found = Event.select().where(Event.kind == "template.updated").order_by(Event.id)
    data = [json.loads(event.payload)["data"] for event in found]
    return [(each["id"], each["language"], each["status"]) for each in data]


OUTDATED: list[tuple[list[TemplateDefinition], dict[str, Any]]] = [
    ([definition(status="PAUSED")], {}),
    ([definition(status="REJECTED")], {}),
    ([definition("order_shipped", "en_US", ONE)], {}),
    ([definition(language="de", template_id="502")], {}),
]


@pytest.mark.parametrize(("listed", "changes"), OUTDATED)
def test_a_send_that_only_the_copy_refuses_is_sent_after_one_read_of_this_name(
    account: Account,
    number: Number,
    network: Network,
    listed: list[TemplateDefinition],
    changes: dict[str, Any],
) -> None:
    factories.webhook(account)
    known(number, *listed)
    network.templates.append(definition("other", template_id="503"))
    assert _send(number, key="key-1", **changes) == 200
    assert network.asked == [("find", "2001", "order_shipped"), network.sent[0]]
    # The copy has the values of the read.
    [row] = Template.rows_of(number)
    assert (row.network_id, row.status, row.components) == ("501", "APPROVED", [BODY])
    assert ("501", "en_US", "APPROVED") in _told()
    assert _send(number, key="key-1") == 200
    assert _send(number) == 200
    assert len(_reads(network)) == 1


def test_a_read_that_finds_nothing_new_emits_nothing_and_the_refusal_stands(
    number: Number, network: Network
) -> None:
    network.templates = [definition(status="PAUSED")]
    known(number, *network.templates)
    due_at = TemplateList.get().due_at
    with pytest.raises(InvalidError) as caught:
        _send(number, key="key-1")
    assert caught.value.details == {"field": "/template/name"}
    assert (network.sent, _told(), Message.select().count()) == ([], [], 0)
    assert IdempotencyKey.find(number.account_id, "key-1") is None
    assert TemplateList.get().due_at == due_at


def test_the_refusal_after_a_read_is_that_of_the_new_copy(number: Number, network: Network) -> None:
    known(number, definition(status="PAUSED"))
    with pytest.raises(InvalidError) as caught:
        _send(number, parameters=1)
    assert caught.value.details == {"field": "/template/components/0/parameters"}
    assert network.sent == []


def test_a_template_that_is_gone_is_removed_and_the_network_decides(
    number: Number, network: Network
) -> None:
    known(number, definition(status="PAUSED"), definition("other", template_id="503"))
    network.templates = []
    assert _send(number) == 200
    assert [row.name for row in Template.rows_of(number)] == ["other"]
    assert _told() == [("501", "en_US", "DELETED")]


@pytest.mark.parametrize(
    "failure",
    [
        exceptions.ThrottledError("80007", "Too many calls"),
        exceptions.AmbiguousError("timeout", "No answer"),
        exceptions.NotReachedError("unreachable", "Away"),
        exceptions.RefusedError("100", "Invalid parameter"),
        exceptions.NumberInDoubtError("200", "No permission"),
    ],
)
def test_the_network_decides_if_the_template_cannot_be_read(
    number: Number, network: Network, failure: exceptions.NetworkError
) -> None:
    known(number, definition(status="PAUSED"))

    class Closed(Network):
        async def find_templates(self, *_: Any) -> list[TemplateDefinition]:
            raise failure

    network.__class__ = Closed
    assert _send(number) == 200
    assert len(network.sent) == 1
    assert [row.status for row in Template.rows_of(number)] == ["PAUSED"]


def test_a_read_without_an_end_is_given_up_and_the_network_decides(
    number: Number, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(number, definition(status="PAUSED"))
    monkeypatch.setattr(template_reads, "READ_SECONDS", 0.01)

    class Silent(Network):
        async def find_templates(self, *_: Any) -> list[TemplateDefinition]:
            await asyncio.get_running_loop().create_future()
            return []

    network.__class__ = Silent
    assert _send(number) == 200
    assert len(network.sent) == 1


def test_a_read_that_a_callback_overtakes_changes_nothing_and_the_network_decides(
    number: Number, network: Network
) -> None:
    known(number, definition(status="PAUSED"))

    def tell() -> None:
        network.meanwhile = lambda: None
        with writing():
            Template.update(status="DISABLED", changed_at=Template.changed_at + 1).execute()

    network.meanwhile = tell
    assert _send(number) == 200
    assert [row.status for row in Template.rows_of(number)] == ["DISABLED"]
    assert _told() == []


def _opt_out(number: Number) -> None:
    with writing():
        contact = Contact.of_recipient(number, TO)
        Contact.update(opted_out_at=1).where(Contact.id == contact.id).execute()


def test_consent_holds_even_if_the_network_decides_on_the_content(
    number: Number, network: Network
) -> None:
    _opt_out(number)
    known(number, definition(status="PAUSED", category="MARKETING"))
    network.failure = exceptions.ThrottledError("80007", "Too many calls")
    with pytest.raises(ConflictError):
        _send(number)
    assert network.sent == []


@pytest.mark.parametrize("listed", [[], [definition(category="MARKETING")]])
@pytest.mark.parametrize("category", ["UTILITY", "MARKETING"])
def test_the_category_at_the_network_decides_on_a_person_who_opted_out(
    number: Number, network: Network, listed: list[TemplateDefinition], category: str
) -> None:
    _opt_out(number)
    known(number, *listed)
    network.templates = [definition(category=category)]
    if category == "UTILITY":
        assert _send(number) == 200
    else:
        with pytest.raises(ConflictError) as caught:
            _send(number)
        assert caught.value.details == {"field": "/to"}
    assert len(network.sent) == (category == "UTILITY")
    assert len(_reads(network)) == 1


def test_concurrent_sends_share_one_read(
    number: Number, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(number, definition(status="PAUSED"))
    bodies = [_body(number) | {"to": f"1555123456{digit}"} for digit in range(5)]
    waiting: list[str] = []
    all_wait, read_again = asyncio.Event(), template_reads.read_again

    class Slow(Network):
        async def find_templates(
            self, sender: Sender, waba_id: str, name: str
        ) -> list[TemplateDefinition]:
            await all_wait.wait()
            return await super().find_templates(sender, waba_id, name)

    async def counted(number: Number, name: str) -> bool:
        waiting.append(name)
        if len(waiting) == len(bodies):
            all_wait.set()
        return await read_again(number, name)

    async def send_all() -> list[int]:
        sends = [sending.send(number.account_id, each, None) for each in bodies]
        return [answer.status for answer in await asyncio.gather(*sends)]

    network.__class__ = Slow
    monkeypatch.setattr(template_reads, "read_again", counted)
    assert asyncio.run(send_all()) == [200] * 5
    assert (len(_reads(network)), len(network.sent)) == (1, 5)


def test_the_reads_of_a_business_account_are_limited_and_then_the_network_decides(
    number: Number, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template_reads, "MOST_READS", 2)
    network.templates = [definition(status="PAUSED")]
    known(number, *network.templates)
    for _ in range(2):
        with pytest.raises(InvalidError):
            _send(number)
    assert _send(number) == 200
    assert (len(_reads(network)), len(network.sent)) == (2, 1)


def test_a_business_account_has_so_many_reads_in_each_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(template_reads, "_begun", {})
    monkeypatch.setattr(template_reads, "MOST_READS", 2)

    def may_begin(at: float, waba_id: str = "2001") -> bool:
        monkeypatch.setattr(time, "monotonic", lambda: at)
        return template_reads._may_begin(waba_id)

    assert [may_begin(at) for at in (0, 50, 59, 61, 62, 111)] == [
        True,
        True,
        False,
        True,
        False,
        True,
    ]
    assert may_begin(62, "2002")


@pytest.mark.usefixtures("network")
def test_a_change_that_a_read_finds_requests_a_read_of_the_list(
    clock: Clock, number: Number
) -> None:
    known(number, definition(status="PAUSED"))
    assert TemplateList.get().due_at > clock()
    _send(number)
    assert TemplateList.get().due_at == clock()


def test_the_version_of_the_template_of_a_send_is_logged(number: Number, network: Network) -> None:
    known(number, definition())
    fields: dict[str, str] = {}
    token = request_fields.set(fields)
    _send(number)
    request_fields.reset(token)
    [row] = Template.rows_of(number)
    assert fields["template_id"] == "501"
    assert fields["template_updated_at"] == row.version["template_updated_at"]
    assert network.sent[0].reference == fields["message_id"]
