"""The body of a send request, for every type of message (Cloud API reference, Messages)."""

import json
from typing import Any

import pytest

from networks.interface import Acceptance, OutboundMessage, Sender
from networks.registry import wait_for
from networks.whatsapp.cloud_api import CloudApi
from tests.receiver import Receiver, answer

PATH = "/v25.0/1001/messages"
ACCEPTED = json.dumps({"messages": [{"id": "wamid.NEW"}]}).encode()
ENVELOPE = {
    "messaging_product": "whatsapp",
    "recipient_type": "individual",
    "to": "15551234567",
    "biz_opaque_callback_data": "msg_1",
}
CONTENTS: dict[str, Any] = {
    "text": {"body": "x", "preview_url": True},
    "image": {"id": "1"},
    "video": {"link": "https://example.com/", "caption": "x"},
    "audio": {"id": "1", "voice": True},
    "document": {"id": "1", "filename": "a.pdf"},
    "sticker": {"id": "1"},
    "location": {"latitude": 1, "longitude": 2.5},
    "contacts": [{"name": {"formatted_name": "Ana"}}],
    "interactive": {"type": "button"},
    "template": {"name": "x", "language": {"code": "en"}},
}


def sent(receiver: Receiver, type_: str, content: Any, quoted: str | None = None) -> Any:
    """The body that the network received."""
    receiver.behave(answer(200, ACCEPTED, Content_Type="application/json"), PATH)
    api = CloudApi(receiver.url(""), "v25.0", "app-1", "secret", 5)
    message = OutboundMessage("15551234567", type_, content, reference="msg_1", quoted=quoted)
    assert wait_for(api.send(Sender("1001", "token"), message)) == Acceptance("wamid.NEW")
    [request] = receiver.at(PATH)
    return request.event


@pytest.mark.parametrize("type_", CONTENTS)
def test_the_key_of_the_content_is_the_type(receiver: Receiver, type_: str) -> None:
    expected = ENVELOPE | {"type": type_, type_: CONTENTS[type_]}
    assert sent(receiver, type_, CONTENTS[type_]) == expected


@pytest.mark.parametrize("type_", CONTENTS)
def test_a_reply_names_its_message_in_its_context(receiver: Receiver, type_: str) -> None:
    expected = ENVELOPE | {"type": type_, type_: CONTENTS[type_]}
    context = {"context": {"message_id": "wamid.OLD"}}
    assert sent(receiver, type_, CONTENTS[type_], "wamid.OLD") == expected | context


@pytest.mark.parametrize("emoji", ["\U0001f44d", ""])
def test_a_reaction_has_its_message_id_in_the_content_and_no_context(
    receiver: Receiver, emoji: str
) -> None:
    given = {"message_id": "msg_0", "emoji": emoji}
    reaction = {"message_id": "wamid.OLD", "emoji": emoji}
    expected = ENVELOPE | {"type": "reaction", "reaction": reaction}
    assert sent(receiver, "reaction", given, "wamid.OLD") == expected
    assert given["message_id"] == "msg_0"
