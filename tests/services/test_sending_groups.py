"""Replies and reactions to messages in a group go to the group, or are refused."""

import asyncio
from typing import Any, TypeVar

import orjson
import pytest

from models.errors import ConflictError
from models.messages.contact import Contact
from models.messages.message import Message
from models.numbers.number import Number
from networks.interface import Acceptance, OutboundMessage, Sender
from networks.whatsapp.rules import Rules
from services import groups, sending, template_reads
from services.repeating import Answer
from tests import factories
from tests.fake_templates import Network, definition, known
from tests.tasks.callbacks import ingest_now, messages, status_of, text

GROUP, PERSON = "Y2FwaV9ncm91cA", "15551234567"
# Identifiers of groups can be digits.
OTHER = "120363025863"
TEXT = {"type": "text", "text": {"body": "Hello all"}}

Platform = TypeVar("Platform", bound=Rules)


class ToPeople(Rules):
    """A network without groups."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, OutboundMessage]] = []

    async def send(self, _: Sender, message: OutboundMessage) -> Acceptance:
        self.asked.append(("person", message))
        return Acceptance(f"wamid.OUT{len(self.asked)}")


class ToGroups(ToPeople):
    """A network with groups."""

    async def send_to_group(self, _: Sender, message: OutboundMessage) -> Acceptance:
        self.asked.append(("group", message))
        return Acceptance(f"wamid.OUT{len(self.asked)}")


def install(monkeypatch: pytest.MonkeyPatch, network: Platform) -> Platform:
    """The network of all numbers."""
    for module in (sending, groups, template_reads):
        monkeypatch.setattr(module, "network_of", lambda _: network)
    return network


@pytest.fixture
def written(number: Number) -> Message:
    """A message that a person wrote in a group."""
    factories.contact(number, phone=PERSON)
    ingest_now(messages(messages=[text(group_id=GROUP)]))
    return Message.get(Message.wa_message_id == "wamid.IN")


def send(number: Number, **body: Any) -> Answer:
    """Send a message to the person."""
    return asyncio.run(
        sending.send(number.account_id, {"number_id": number.id, "to": PERSON} | body, None)
    )


def sent(answer: Answer) -> Message:
    """The message of an answer."""
    return Message.get_by_id(orjson.loads(answer.body)["id"])


@pytest.mark.parametrize("speak", ["reply", "reaction"])
def test_an_answer_to_a_message_in_a_group_goes_to_the_group(
    number: Number, written: Message, monkeypatch: pytest.MonkeyPatch, speak: str
) -> None:
    network = install(monkeypatch, ToGroups())
    reaction = {"type": "reaction", "reaction": {"message_id": written.id, "emoji": "x"}}
    reply = TEXT | {"context": {"message_id": written.id}}
    message = sent(send(number, **(reply if speak == "reply" else reaction)))
    [(where, asked)] = network.asked
    assert (where, asked.group, asked.quoted) == ("group", GROUP, "wamid.IN")
    assert (message.group_id, message.quoted_id) == (GROUP, written.id)


def test_a_message_that_names_none_goes_to_the_person(
    number: Number, written: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = install(monkeypatch, ToGroups())
    message = sent(send(number, **TEXT))
    ingest_now(messages(messages=[text("wamid.ALONE")]))
    alone = Message.get(Message.wa_message_id == "wamid.ALONE")
    answer = sent(send(number, **TEXT, context={"message_id": alone.id}))
    assert [where for where, _ in network.asked] == ["person", "person"]
    assert [message.group_id, answer.group_id, written.group_id] == [None, None, GROUP]


@pytest.mark.parametrize("place", ["context", "reaction"])
def test_a_network_without_groups_sends_nothing(
    number: Number, written: Message, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    network = install(monkeypatch, ToPeople())
    reaction = {"type": "reaction", "reaction": {"message_id": written.id, "emoji": "x"}}
    reply = TEXT | {"context": {"message_id": written.id}}
    with pytest.raises(ConflictError) as refused:
        send(number, **(reply if place == "context" else reaction))
    assert refused.value.details["field"] == f"/{place}/message_id"
    assert network.asked == []
    assert Message.select().count() == 1
    ingest_now(messages(messages=[text("wamid.ALONE")]))
    alone = Message.get(Message.wa_message_id == "wamid.ALONE")
    assert sent(send(number, **TEXT, context={"message_id": alone.id})).group_id is None


@pytest.mark.parametrize("speak", ["reply", "reaction", "reply to our own"])
def test_an_answer_in_a_group_names_the_person_of_its_message(
    number: Number, written: Message, monkeypatch: pytest.MonkeyPatch, speak: str
) -> None:
    network = install(monkeypatch, ToGroups())
    target, asked = written.id, 0
    if speak == "reply to our own":
        target, asked = sent(send(number, **TEXT, context={"message_id": target})).id, 1
    body = TEXT | {"context": {"message_id": target}}
    if speak == "reaction":
        body = {"type": "reaction", "reaction": {"message_id": target, "emoji": "x"}}
    known_people = Contact.select().count()
    with pytest.raises(ConflictError) as refused:
        send(number, **body | {"to": "15559998888"})
    assert refused.value.details["field"] == "/to"
    assert (len(network.asked), Contact.select().count()) == (asked, known_people)
    assert sent(send(number, **body)).group_id == GROUP


@pytest.mark.parametrize("name", ["sale", "not_known"])
def test_a_template_that_may_be_marketing_is_not_sent_to_a_group(
    number: Number, written: Message, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    network = install(monkeypatch, ToGroups())
    body = {"type": "BODY", "text": "Your order has shipped."}
    ours = ("shipped", "UTILITY"), ("sale", "MARKETING")
    known(
        number,
        *(
            definition(each, "en_US", body, template_id=each, category=category)
            for each, category in ours
        ),
    )
    reply = {"type": "template", "context": {"message_id": written.id}}
    with pytest.raises(ConflictError) as refused:
        send(number, **reply, template={"name": name, "language": {"code": "en_US"}})
    assert refused.value.details["field"] == "/template/name"
    assert network.asked == []
    send(number, **reply, template={"name": "shipped", "language": {"code": "en_US"}})
    assert [(where, message.group) for where, message in network.asked] == [("group", GROUP)]


def test_a_template_that_the_network_shows_as_no_marketing_is_sent_to_a_group(
    number: Number, written: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    class WithGroups(Network):
        async def send_to_group(self, sender: Sender, message: OutboundMessage) -> Acceptance:
            return await self.send(sender, message)

    here = {"type": "BODY", "text": "It is here."}
    known(number, definition("order_shipped", "en_US", here, category="MARKETING"))
    network = install(monkeypatch, WithGroups(definition("order_shipped", "en_US", here)))
    template = {"name": "order_shipped", "language": {"code": "en_US"}}
    send(number, type="template", context={"message_id": written.id}, template=template)
    assert [message.group for message in network.sent] == [GROUP]


@pytest.mark.usefixtures("written")
def test_statuses_of_a_group_say_nothing_about_a_person(
    number: Number, written: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, ToGroups())
    message = sent(send(number, **TEXT, context={"message_id": written.id}))
    status = status_of("wamid.OUT1", "delivered", recipient_type="group", recipient_id=OTHER)
    ingest_now(messages(statuses=[status]))
    assert Message.get_by_id(message.id).status == "delivered"
    assert [row.phone for row in Contact.select()] == [PERSON]
