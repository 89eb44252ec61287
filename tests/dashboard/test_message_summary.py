"""The summary of a message in lists, for every type and shape."""

from typing import Any

import pytest

from models.database import writing
from models.messages.contact import Contact
from models.messages.message import Message
from models.numbers.number import Number
from tests import factories
from tests.dashboard.conftest import Visit
from tests.dashboard.test_contact import text_of

PERSON = "15551234567"


def _write(number: Number, kind: str, body: dict[str, Any]) -> Message:
    with writing():
        contact = Contact.of_recipient(number, PERSON)
        return Message.write_outbound(number, PERSON, kind, body, contact_id=contact.id)


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("text", {"body": "Hello"}, "Hello"),
        ("image", {"id": "1", "caption": "A cat"}, "Image: A cat"),
        ("image", {"id": "1"}, "Image"),
        ("document", {"filename": "bill.pdf"}, "Document: bill.pdf"),
        ("template", {"name": "order_update"}, "Template order_update"),
        ("location", {"address": "Main Street 1"}, "Location: Main Street 1"),
        ("contacts", {"contacts": [{"name": {"formatted_name": "Ana"}}]}, "Contacts: Ana"),
        ("contacts", {"contacts": []}, "Contacts"),
        ("reaction", {"emoji": "👍"}, "Reaction: 👍"),
        ("interactive", {"body": {"text": "Shall we?"}}, "Interactive: Shall we?"),
        ("interactive", {"button_reply": {"title": "Yes"}}, "Interactive: Yes"),
        ("interactive", {"body": 7}, "Interactive"),
    ],
)
def test_a_message_says_what_it_is(
    number: Number, visit: Visit, kind: str, body: dict[str, Any], said: str
) -> None:
    _write(number, kind, body)
    assert f"Sent to +{PERSON} {said} pending" in text_of(visit("messages"))


def test_the_name_of_a_known_person_leads(number: Number, visit: Visit) -> None:
    factories.contact(number, phone=PERSON, name="Ana Souza")
    _write(number, "text", {"body": "Hello"})
    assert f"Ana Souza +{PERSON} Hello" in text_of(visit("messages"))
