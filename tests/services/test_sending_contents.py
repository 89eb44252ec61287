"""The stored form of a message's content."""

from services.sending import as_stored


def test_an_object_is_kept_as_it_is_and_an_array_under_its_name() -> None:
    cards = [{"name": {"formatted_name": "Ana"}}]
    assert as_stored({"type": "text", "text": {"body": "x"}}) == {"body": "x"}
    assert as_stored({"type": "contacts", "contacts": cards}) == {"contacts": cards}


def test_a_reply_stores_the_quoted_message_next_to_its_content() -> None:
    context = {"message_id": "msg_1"}
    reply = {"type": "text", "text": {"body": "x"}, "context": context}
    assert as_stored(reply) == {"body": "x", "context": context}
