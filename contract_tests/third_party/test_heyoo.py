"""heyoo from PyPI, unmodified, against the sandbox as graph.facebook.com."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from heyoo import WhatsApp

from contract_tests.third_party.world import LINK, PERSON, PNG, World

CONTACTS = [
    {
        "name": {"formatted_name": "Ana Diaz", "first_name": "Ana"},
        "addresses": [{"street": "1 Quay", "city": "Cape Town", "type": "WORK"}],
        "phones": [{"phone": "+1 650 555 1234", "type": "CELL"}],
    }
]
COMPONENTS = [
    {"type": "body", "parameters": [{"type": "text", "text": "Ana"}]},
    {
        "type": "BUTTON",
        "sub_type": "QUICK_REPLY",
        "index": 0,
        "parameters": [{"type": "payload", "payload": "yes"}],
    },
]
LIST = {
    "header": "Sizes",
    "body": "Which one?",
    "footer": "-",
    "action": {
        "button": "Choose",
        "sections": [{"title": "All", "rows": [{"id": "s", "title": "Small", "description": ""}]}],
    },
}
BUTTONS = {
    "type": "button",
    "body": {"text": "Do you like it?"},
    "action": {"buttons": [{"type": "reply", "reply": {"id": "yes", "title": "Yes"}}]},
}
OTHER = {"messaging_product": "whatsapp", "type": "audio", "audio": {"link": LINK + ".mp3"}}

SENDS: list[tuple[str, Callable[[WhatsApp, World], Any]]] = [
    ("send_message", lambda wa, _: wa.send_message("Hello", PERSON)),
    ("send_message", lambda wa, _: wa.send_message("Hello", PERSON, preview_url=False)),
    ("send_reaction", lambda wa, w: wa.send_reaction("\N{THUMBS UP SIGN}", w.inbound(), PERSON)),
    ("reply_to_message", lambda wa, w: wa.reply_to_message(w.inbound(), PERSON, "Yes")),
    ("send_template", lambda wa, _: wa.send_template("order_update", PERSON, COMPONENTS)),
    ("send_template", lambda wa, _: wa.send_template("hello_world", PERSON, [], lang="en_US")),
    (
        "send_location",
        lambda wa, _: wa.send_location("-33.92", "18.42", "Harbour", "1 Quay", PERSON),
    ),
    ("send_image", lambda wa, _: wa.send_image(LINK + ".png", PERSON)),
    ("send_image", lambda wa, w: wa.send_image(w.media_id(), PERSON, caption="", link=False)),
    ("send_sticker", lambda wa, _: wa.send_sticker(LINK + ".webp", PERSON)),
    ("send_audio", lambda wa, w: wa.send_audio(w.media_id(), PERSON, link=False)),
    ("send_video", lambda wa, _: wa.send_video(LINK + ".mp4", PERSON, caption="A film")),
    ("send_document", lambda wa, _: wa.send_document(LINK + ".pdf", PERSON)),
    ("send_document", lambda wa, _: wa.send_document(LINK + ".pdf", PERSON, filename="bill.pdf")),
    ("send_contacts", lambda wa, _: wa.send_contacts(CONTACTS, PERSON)),
    ("send_custom_json", lambda wa, _: wa.send_custom_json(dict(OTHER), PERSON)),
    ("send_button", lambda wa, _: wa.send_button(LIST, PERSON)),
    ("send_reply_button", lambda wa, _: wa.send_reply_button(BUTTONS, PERSON)),
]
MEDIA = {"upload_media", "query_media_url", "download_media", "delete_media"}
# Methods that only read a callback or build a body.
LOCAL = {
    "create_button",
    "preprocess",
    "is_message",
    "get_mobile",
    "get_name",
    "get_message",
    "get_message_id",
    "get_message_timestamp",
    "get_interactive_response",
    "get_location",
    "get_image",
    "get_document",
    "get_audio",
    "get_video",
    "get_message_type",
    "get_delivery",
    "changed_field",
}


@pytest.fixture
def client(world: World) -> WhatsApp:
    """The client, created like in its documentation."""
    return WhatsApp(world.business.token, world.business.number_id)


@pytest.mark.parametrize(("method", "send"), SENDS, ids=[method for method, _ in SENDS])
def test_a_send_is_accepted(
    method: str, send: Callable[[WhatsApp, World], Any], client: WhatsApp, world: World
) -> None:
    assert hasattr(client, method)
    answer = send(client, world)
    assert answer["messages"][0]["id"].startswith("wamid."), answer


def test_a_refusal_reaches_the_client(client: WhatsApp) -> None:
    assert client.send_message("Hello", "15550100001")["error"]["code"] == 131026


def test_a_message_is_marked_as_read(client: WhatsApp, world: World) -> None:
    assert client.mark_as_read(world.inbound()) == {"success": True}


# The client leaves the file that it uploads open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_media_are_uploaded_and_downloaded(client: WhatsApp, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(PNG)
    uploaded = client.upload_media(str(picture))
    assert uploaded is not None
    url = client.query_media_url(uploaded["id"])
    assert url is not None
    name = client.download_media(url, "image/png", str(tmp_path / "b"))
    assert name is not None
    assert Path(name).read_bytes() == PNG
    assert client.delete_media(uploaded["id"]) == {"success": True}
    assert client.query_media_url(uploaded["id"]) is None


def test_each_method_is_called_or_omitted() -> None:
    methods = {name for name, _ in inspect.getmembers(WhatsApp, inspect.isfunction)}
    called = {method for method, _ in SENDS} | MEDIA | {"mark_as_read"}
    assert methods - {"__init__"} == called | LOCAL
