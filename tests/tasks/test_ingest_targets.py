"""Replies and reactions name their message, also if it arrives after them."""

import json
from typing import Any

import orjson
import pytest

from handlers.messages import get_message, list_messages
from models.accounts.account import Account
from models.database import writing
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from tests import factories
from tests.asgi import content_of
from tests.plans import queries_of
from tests.tasks.callbacks import ingest_now, messages, text

pytestmark = pytest.mark.usefixtures("clock")
LIKE = {"message_id": "wamid.A", "emoji": "\U0001f44d"}


def arrived(*items: dict[str, Any], phone_number_id: str = "1001") -> None:
    """People wrote these, one callback each."""
    for item in items:
        ingest_now(messages(phone_number_id, messages=[item]))


def contexts(number: Number) -> dict[str, Any]:
    """The context of each message with one, in the list and alone."""
    listed = json.loads(content_of(list_messages(number.account_id, 20, 0)))["data"]
    found = {each["waMessageId"]: each["context"] for each in listed if each["context"]}
    for each in listed:
        alone: Any = get_message(number.account_id, each["id"])
        assert orjson.loads(orjson.dumps(alone))["context"] == each["context"]
    return found


def test_what_arrives_before_its_message_names_it_later(number: Number) -> None:
    arrived(
        text("wamid.R", context={"id": "wamid.A"}), text("wamid.L", type="reaction", reaction=LIKE)
    )
    unknown = {"messageId": None, "waMessageId": "wamid.A"}
    assert contexts(number) == {"wamid.R": unknown, "wamid.L": unknown}
    arrived(text("wamid.A"))
    known = {
        "messageId": Message.get(Message.wa_message_id == "wamid.A").id,
        "waMessageId": "wamid.A",
    }
    assert contexts(number) == {"wamid.R": known, "wamid.L": known}


def test_a_reply_before_the_answer_to_the_send_names_what_was_sent(number: Number) -> None:
    sent = factories.outbound(number)
    arrived(text("wamid.R", context={"id": "wamid.A"}))
    with writing():
        sent.advance(MessageStatus.SENT, at=1, wa_message_id="wamid.A")
    assert contexts(number)["wamid.R"]["messageId"] == sent.id


def test_a_message_of_another_number_is_no_target(account: Account, number: Number) -> None:
    factories.active_number(account, "1002", phone_number="15550002222")
    arrived(text("wamid.R", context={"id": "wamid.A"}))
    arrived(text("wamid.A"), phone_number_id="1002")
    assert contexts(number)["wamid.R"]["messageId"] is None


def test_only_lists_with_an_unknown_target_look_for_it_by_the_index(number: Number) -> None:
    arrived(text("wamid.A"), text("wamid.R", context={"id": "wamid.A"}))
    known = queries_of(lambda: list_messages(number.account_id, 20, 0))
    arrived(text("wamid.S", context={"id": "wamid.B"}))
    *_, query = queries = queries_of(lambda: list_messages(number.account_id, 20, 0))
    assert len(queries) == len(known) + 1
    assert any("message_wa_message_id_number_id" in step for step in query.steps())
