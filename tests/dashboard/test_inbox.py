"""The inbox: conversations by person, a single conversation, and replies through the API's operation."""

import io
import json
import re
from collections.abc import Callable, Mapping
from typing import IO, Any, Protocol

import pytest
from flask.testing import FlaskClient
from werkzeug.test import EnvironBuilder

from dashboard import api_calls, inbox, replies
from dashboard.api_calls import Answer, Body
from gateway.http.exception_handlers import as_api_error
from models.accounts.account import Account
from models.database import writing
from models.errors import (
    ConflictError,
    DomainError,
    FailedError,
    InvalidError,
    RateLimitedError,
    TooLargeError,
)
from models.messages.contact import Contact
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message
from models.messages.template import Template
from models.numbers.number import Number, NumberStatus
from services.repeating import REUSED
from tests import factories
from tests.conftest import Clock
from tests.dashboard.conftest import Submit, Visit
from tests.fake_templates import definition, known
from tests.tasks.callbacks import ingest_now, messages, text

PERSON = "15551234567"
USED = ConflictError(REUSED)


class Claim(Protocol):
    """Claims each key once, with the stored error if there is one."""

    def __call__(self, key: str, status: int | None = None) -> object: ...


class Api:
    """A fake of the API that the application passes in. It records calls and responds with ``answer``.

    An upload gets the first of ``uploads``. A send calls ``sends`` with its key.
    """

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.keys: list[str] = []
        self.answer = Answer(200, {}, b"{}")
        self.sends: Callable[[str], object] = lambda _key: None
        self.uploads: list[Answer] = []
        self.uploaded: list[tuple[str, str, str, bytes]] = []
        self.counted: list[bool] = []

    def __call__(
        self,
        _account: Account,
        path: str,
        headers: Mapping[str, str],
        body: Body,
        *,
        is_counted: bool,
    ) -> Answer:
        self.counted.append(is_counted)
        content = b"".join(body.pieces)
        assert len(content) == body.size
        if path.endswith("/media"):
            with EnvironBuilder(
                data=content, content_type=body.content_type
            ).get_request() as given:
                file = given.files["file"]
                self.uploaded.append((path, file.filename or "", file.mimetype, file.read()))
            return self.uploads.pop(0)
        assert path == "/messages/send"
        self.asked.append(json.loads(content))
        self.keys.append(headers["idempotency-key"])
        self.sends(self.keys[-1])
        return self.answer

    def will_upload(self, media_id: str, mime_type: str) -> None:
        made = json.dumps({"id": media_id, "mimeType": mime_type})
        self.uploads.append(Answer(200, {}, made.encode()))

    def fail(self, error: DomainError) -> None:
        self.answer = failed(error)


def failed(error: DomainError) -> Answer:
    response = as_api_error(error, "", "")
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status, headers, response.body.encode())


@pytest.fixture
def api(browser: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> Api:
    made = Api()
    monkeypatch.setitem(browser.application.extensions, api_calls.EXTENSION, made)
    return made


@pytest.fixture
def contact(number: Number) -> Contact:
    """A contact that has just written."""
    message = factories.inbound(number)
    assert message is not None
    return Contact.get_by_id(message.contact_id)


def _people(page: str) -> list[str]:
    return re.findall(r'href="/dashboard/inbox/(ctc_\w+)#newest"', page)


def _write(number: Number, clock: Clock, to: str) -> str:
    clock.advance(seconds=1)
    return str(factories.outbound(number, to).contact_id)


def test_an_empty_inbox_says_who_appears_there(visit: Visit) -> None:
    assert "No conversation yet." in visit("inbox")


def test_conversations_are_listed_by_their_newest_message_each_once(
    visit: Visit, number: Number, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "PER_PAGE", 2)
    ann, bob, cleo = (_write(number, clock, f"1555123450{i}") for i in range(3))
    _write(number, clock, "15551234500")
    first = visit("inbox")
    assert _people(first) == [ann, cleo]
    [older] = re.findall(r'href="/dashboard/(inbox\?before=\w+)" rel="next"', first)
    assert _people(visit(older)) == [bob]
    assert "No older conversation." in visit("inbox?before=msg_0")


def test_the_inbox_shows_the_last_text_and_who_wrote_it(
    visit: Visit, contact: Contact, number: Number, clock: Clock
) -> None:
    assert "Hi" in visit("inbox")
    clock.advance(seconds=1)
    factories.outbound(number, PERSON, "On its way")
    page = visit("inbox")
    assert "You:" in page
    assert "On its way" in page
    assert _people(page) == [contact.id]


def test_conversations_are_filtered_by_number(
    visit: Visit, account: Account, number: Number, clock: Clock
) -> None:
    other = factories.active_number(account, "1002", phone_number="15550002222")
    _write(number, clock, PERSON)
    theirs = _write(other, clock, PERSON)
    assert _people(visit(f"inbox?number_id={other.id}")) == [theirs]


def test_a_conversation_has_both_directions_in_order_by_day(
    visit: Visit, contact: Contact, number: Number, clock: Clock
) -> None:
    clock.advance(days=1)
    factories.outbound(number, PERSON, "A day later")
    page = visit(f"inbox/{contact.id}")
    assert re.findall(r'<time datetime="([\d-]+)">', page) == ["2026-11-20", "2026-11-21"]
    assert ">21 Nov 2026</time>" in page
    assert page.count(" in UTC.") == 1
    assert page.index("Hi") < page.index("A day later")
    assert "window closed" in page


def test_a_conversation_marks_edited_and_deleted_messages_and_groups(
    visit: Visit, number: Number
) -> None:
    ingest_now(messages(messages=[text("wamid.A"), text("wamid.B", group_id="Y2FwaQ")]))
    new = {"type": "text", "text": {"body": "Hi Ana"}}
    edit = {"original_message_id": "wamid.A", "message": new}
    ingest_now(messages(messages=[text("wamid.E", type="edit", edit=edit)]))
    [contact] = Contact.select()
    edited = Message.get(Message.wa_message_id == "wamid.E")
    page = visit(f"inbox/{contact.id}")
    assert re.findall(r'class="typed">:? ?([\w ]+)<', page) == ["Hi", "Hi", "Hi Ana"]
    assert f'<a href="/dashboard/messages/{edited.id}">Edited</a>' in page
    assert page.count("In a group") == 1
    revoke = {"original_message_id": "wamid.A"}
    ingest_now(messages(messages=[text("wamid.D", type="revoke", revoke=revoke)]))
    page = visit(f"inbox/{contact.id}")
    assert re.findall(r'class="typed">:? ?([\w ]+)<', page) == ["Hi"]
    assert (page.count("Deleted at"), page.count(">Edited<")) == (1, 0)
    assert number.phone_number in visit(f"messages/{edited.id}")


def test_a_conversation_names_what_a_message_is_about(visit: Visit, number: Number) -> None:
    like = {"message_id": "wamid.A", "emoji": "+"}
    early = text("wamid.L", type="reaction", reaction=like)
    ingest_now(messages(messages=[early, text("wamid.B", context={"id": "wamid.NONE"})]))
    [contact] = Contact.select()
    assert visit(f"inbox/{contact.id}").count("that is not stored") == 2
    ingest_now(messages(messages=[text("wamid.A", text={"body": "<b>Yes</b>"})]))
    target = Message.get(Message.wa_message_id == "wamid.A")
    link = f'Reacts to <a href="/dashboard/messages/{target.id}">'
    assert f"{link}&lt;b&gt;Yes&lt;/b&gt;</a>" in visit(f"inbox/{contact.id}")
    reaction = Message.get(Message.wa_message_id == "wamid.L")
    assert f'"/dashboard/messages/{target.id}">their message' in visit(f"messages/{reaction.id}")
    revoke = {"original_message_id": "wamid.A"}
    ingest_now(messages(messages=[text("wamid.D", type="revoke", revoke=revoke)]))
    page = visit(f"inbox/{contact.id}")
    assert f"{link}a deleted message</a>" in page
    deletion = Message.get(Message.wa_message_id == "wamid.D")
    for each in (f"contacts/{contact.id}", "messages"):
        page = visit(each)
        for row, words in ((target, "Deleted message"), (deletion, "Deletes a message")):
            assert re.search(f"{row.id}(.(?!msg_))*{words}", page, re.DOTALL), (each, words)
    assert "Deletes a message" in visit("inbox")
    assert number.phone_number in page


def test_a_long_conversation_has_its_earlier_messages_on_other_pages(
    visit: Visit, number: Number, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "PER_PAGE", 2)
    first = factories.outbound(number, PERSON, "one")
    for words in ("two", "three"):
        clock.advance(seconds=1)
        factories.outbound(number, PERSON, words)
    page = visit(f"inbox/{first.contact_id}")
    assert "one" not in re.findall(r'class="typed">(\w+)<', page)
    [earlier] = re.findall(r'href="/dashboard/inbox/\w+(\?before=\w+)"', page)
    assert re.findall(r'class="typed">(\w+)<', visit(f"inbox/{first.contact_id}{earlier}")) == [
        "one"
    ]


def test_a_text_is_sent_through_the_api_with_the_key_of_its_form(
    visit: Visit, submit: Submit, api: Api, contact: Contact, number: Number
) -> None:
    page = visit(f"inbox/{contact.id}")
    assert "window open" in page
    [key] = re.findall('name="once" value="([^"]+)"', page)
    form = {"reply": "text", "text": "Hello"}
    answer = submit(f"inbox/{contact.id}", 303, once=key, **form)
    assert answer.headers["Location"] == f"/dashboard/inbox/{contact.id}#newest"
    assert api.keys == [key]
    assert api.asked == [
        {"number_id": number.id, "to": PERSON, "type": "text", "text": {"body": "Hello"}}
    ]


@pytest.mark.parametrize(("network", "most"), [("whatsapp", 100 * 1024 * 1024), ("memory", 0)])
def test_the_form_takes_the_files_of_the_network(
    visit: Visit, contact: Contact, network: str, most: int
) -> None:
    with writing():
        Number.update(network=network).execute()
    page = visit(f"inbox/{contact.id}?reply=media")
    assert f'data-most="{most}"' in page
    assert (".pdf" in page) is (network == "whatsapp")


def test_media_is_sent_by_link(submit: Submit, api: Api, contact: Contact) -> None:
    form = {"reply": "media", "link": "https://example.com/a", "caption": "Look", "once": "k"}
    for kind in ("image", "audio"):
        submit(f"inbox/{contact.id}/media", 303, kind=kind, **form)
    assert [body[body["type"]] for body in api.asked] == [
        {"link": "https://example.com/a", "caption": "Look"},
        {"link": "https://example.com/a"},
    ]


def _file(name: str = "a.png", mime_type: str = "image/png") -> tuple[IO[bytes], str, str]:
    return io.BytesIO(b"content of " + name.encode()), name, mime_type


@pytest.mark.parametrize(
    ("name", "mime_type", "kind", "content"),
    [
        ("a.png", "image/png", "image", {"caption": "Look"}),
        ("a.webp", "image/webp", "sticker", {}),
        ("a.ogg", "audio/ogg", "audio", {}),
        ('my "claim".pdf', "application/pdf", "document", {"caption": "Look"}),
    ],
)
def test_a_file_is_uploaded_and_sent_as_what_it_is(
    submit: Submit, api: Api, contact: Contact, name: str, mime_type: str, kind: str, content: Any
) -> None:
    api.will_upload("4711", mime_type)
    # The browsers' escape of a quotation mark in a header.
    sent = _file(name.replace('"', "%22"), mime_type)
    submit(f"inbox/{contact.id}/media", caption="Look", once="k", file=sent)
    media = f"/numbers/{contact.number_id}/media"
    [uploaded] = api.uploaded
    assert uploaded[:3] == (media, name, mime_type)
    assert uploaded[3].startswith(b"content of")
    [asked] = api.asked
    named = {"filename": name} if kind == "document" else {}
    assert (asked["type"], asked[kind]) == (kind, {"id": "4711"} | named | content)
    # The form was counted, and with it the first call.
    assert api.counted == [True, False]


def test_a_reply_that_is_throttled_says_when_to_send_it_again(
    submit: Submit, api: Api, contact: Contact
) -> None:
    api.fail(RateLimitedError("Busy.", retry_after=9))
    refused = submit(f"inbox/{contact.id}", 429, text="not lost", once="k")
    assert refused.headers["Retry-After"] == "9"
    assert "not lost</textarea>" in refused.text


@pytest.fixture
def claim(number: Number, contact: Contact) -> Claim:
    """Store the API's rows of the first send with a key: the message, the key and its error."""

    def write(key: str, status: int | None = None) -> None:
        with writing():
            message = Message.write_outbound(
                number, PERSON, "image", {"id": "1"}, contact_id=contact.id
            )
            IdempotencyKey.claim(contact.account_id, key, "f", message)
            if status is not None:
                IdempotencyKey.answer(message, status, "{}")

    return write


def test_a_resubmitted_form_reuses_the_upload_only_for_the_same_file(
    submit: Submit, api: Api, contact: Contact, claim: Claim
) -> None:
    for media_id in ("1", "2"):
        api.will_upload(media_id, "image/png")
    path = f"inbox/{contact.id}/media"
    api.sends = claim
    submit(path, once="k", file=_file())
    submit(path, once="k", file=_file())
    api.fail(USED)
    answer = submit(path, 422, reply="media", once="k", file=_file("another.png"))
    assert inbox.CHANGED in answer.text
    assert 'name="once" value="k"' in answer.text
    submit(path, 422, reply="media", once="k", link="https://example.com/a.png", kind="image")
    submit(path, 422, reply="media", once="k", file=_file())
    sent = [asked["image"] for asked in api.asked]
    assert [each.get("id") for each in sent] == ["1", "1", "2", None, "1"]
    assert set(api.keys) == {"k"}, "so the API sends one message"


@pytest.mark.parametrize("path", ["", "/media"])
def test_a_key_that_no_form_has_is_refused(
    submit: Submit, api: Api, contact: Contact, path: str
) -> None:
    # No database accepts it.
    submit(f"inbox/{contact.id}{path}", 400, once="k\0", text="Hi", file=_file())
    assert api.asked == api.uploaded == []


def test_the_second_of_two_concurrent_uploads_of_a_file_reuses_the_first(
    submit: Submit, api: Api, contact: Contact, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.will_upload("2", "image/png")
    api.fail(ConflictError("Another request has this Idempotency-Key.", retry_after=1))
    found = iter([None, ("image", {"id": "1"})])
    monkeypatch.setattr(replies, "_first_content", lambda *_: next(found))
    submit(f"inbox/{contact.id}/media", once="k", file=_file())
    assert [asked["image"]["id"] for asked in api.asked] == ["2", "1"]


@pytest.fixture
def erase(claim: Claim) -> Callable[[str], None]:
    """Claim a key, and erase its message."""

    def claim_and_erase(key: str) -> None:
        claim(key)
        message = Message.get(Message.type == "image")
        with writing():
            IdempotencyKey.erase([message.id])
            Message.delete().where(Message.id == message.id).execute()

    return claim_and_erase


def test_a_file_whose_message_is_erased_at_once_is_sent(
    submit: Submit, api: Api, contact: Contact, erase: Callable[[str], None]
) -> None:
    api.will_upload("1", "image/png")
    api.sends = erase
    submit(f"inbox/{contact.id}/media", once="k", file=_file())
    assert [asked["image"] for asked in api.asked] == [{"id": "1"}]


def test_a_form_whose_message_was_erased_shows_the_refusal_of_the_api(
    submit: Submit, api: Api, contact: Contact, erase: Callable[[str], None]
) -> None:
    erase("k")
    api.will_upload("2", "image/png")
    api.fail(USED)
    answer = submit(f"inbox/{contact.id}/media", 422, reply="media", once="k", file=_file())
    assert inbox.CHANGED in answer.text


def test_a_refused_file_shows_the_reason_and_keeps_the_input(
    submit: Submit, api: Api, contact: Contact
) -> None:
    refusal = TooLargeError("The file has 9 bytes.", field="/file")
    api.uploads.append(failed(refusal))
    form = {"reply": "media", "caption": "<b>", "once": "k"}
    answer = submit(f"inbox/{contact.id}/media", 422, **form, file=_file())
    assert f'role="alert" id="problem">{refusal.message}</p>' in answer.text
    assert "&lt;b&gt;</textarea>" in answer.text
    assert api.asked == []


@pytest.mark.parametrize("form", [{}, {"link": "https://example.com/a", "file": _file()}])
def test_media_is_one_file_or_one_link(
    submit: Submit, api: Api, contact: Contact, form: dict[str, Any]
) -> None:
    answer = submit(f"inbox/{contact.id}/media", 422, reply="media", once="k", **form)
    assert 'role="alert"' in answer.text
    assert api.asked == api.uploaded == []


@pytest.fixture
def template(number: Number) -> Callable[..., Template]:
    """A template with these components that the number can send."""

    def make(*components: dict[str, Any], **values: Any) -> Template:
        known(number, definition("order_shipped", "en_US", *components, **values))
        return Template.rows_of(number, name="order_shipped")[0]

    return make


def test_a_template_is_filled_in_and_sent(
    visit: Visit,
    submit: Submit,
    api: Api,
    contact: Contact,
    template: Callable[..., Template],
) -> None:
    chosen = template(
        {"type": "HEADER", "format": "IMAGE"},
        {"type": "BODY", "text": "Hello {{1}}, {{2}} and {{1}} again."},
        {
            "type": "BUTTONS",
            "buttons": [
                {"type": "QUICK_REPLY", "text": "Stop"},
                {"type": "URL", "text": "Track", "url": "https://example.com/{{1}}"},
            ],
        },
    )
    page = visit(f"inbox/{contact.id}?reply=template&template={chosen.id}")
    names = re.findall(r'<label>[^<]+<input name="([^"]+)"', page)
    assert names == ["header-file", "body-1", "body-2", "button-1"]
    typed = dict(zip(names, ["https://example.com/a.png", "Ada", "42", "abc"], strict=True))
    submit(f"inbox/{contact.id}", 303, reply="template", template=chosen.id, once="k", **typed)
    [asked] = api.asked
    assert asked["template"] == {
        "name": "order_shipped",
        "language": {"code": "en_US"},
        "components": [
            {
                "type": "header",
                "parameters": [{"type": "image", "image": {"link": "https://example.com/a.png"}}],
            },
            {
                "type": "body",
                "parameters": [{"type": "text", "text": "Ada"}, {"type": "text", "text": "42"}],
            },
            {
                "type": "button",
                "sub_type": "url",
                "index": "1",
                "parameters": [{"type": "text", "text": "abc"}],
            },
        ],
    }


def test_named_parameters_are_named(
    submit: Submit, api: Api, contact: Contact, template: Callable[..., Template]
) -> None:
    chosen = template({"type": "BODY", "text": "Hello {{first}}."})
    form = {"reply": "template", "template": chosen.id, "once": "k", "body-first": "Ada"}
    submit(f"inbox/{contact.id}", 303, **form)
    [component] = api.asked[0]["template"]["components"]
    assert component["parameters"] == [{"type": "text", "parameter_name": "first", "text": "Ada"}]


def test_without_a_choice_a_template_is_asked_for(
    submit: Submit, api: Api, contact: Contact, template: Callable[..., Template]
) -> None:
    template()
    answer = submit(f"inbox/{contact.id}", 422, reply="template", once="k")
    assert "Choose a template." in answer.text
    assert api.asked == []


def test_an_error_is_shown_in_the_form_and_keeps_the_input(
    submit: Submit, api: Api, contact: Contact
) -> None:
    api.fail(InvalidError("Request body, text.body: too long", field="/text/body"))
    answer = submit(f"inbox/{contact.id}", 422, reply="text", text="<b>", once="k")
    assert 'role="alert" id="problem">Too long</p>' in answer.text
    assert "&lt;b&gt;</textarea>" in answer.text


def test_after_an_unclear_outcome_the_form_never_sends_a_second_message(
    submit: Submit, api: Api, contact: Contact, claim: Claim
) -> None:
    claim("k", 500)
    tries = {
        "gave no clear answer": FailedError("The messaging network gave no clear answer."),
        "Your first reply may have been sent. See the conversation": USED,
        "Too long": InvalidError("Request body, text.body: Too long", field="/text/body"),
    }
    for problem, error in tries.items():
        api.fail(error)
        answer = submit(f"inbox/{contact.id}", 422, reply="text", text=problem, once="k")
        assert problem in answer.text.partition('id="problem">')[2].partition("</p>")[0]
        assert 'name="once" value="k"' in answer.text


def test_after_a_refusal_by_the_network_the_next_try_is_another_message(
    submit: Submit, api: Api, contact: Contact, claim: Claim
) -> None:
    claim("k", 409)
    refusal = ConflictError("The number was banned by the network.")
    api.fail(refusal)
    answer = submit(f"inbox/{contact.id}", 422, reply="text", text="Hi", once="k")
    assert refusal.message in answer.text
    assert 'value="k"' not in answer.text


def test_a_double_click_shows_the_message_in_progress(
    submit: Submit, api: Api, contact: Contact
) -> None:
    api.fail(ConflictError("The first request has no outcome yet.", retry_after=2))
    submit(f"inbox/{contact.id}", reply="text", text="Hi", once="k")


def test_a_number_that_cannot_send_has_no_form(
    visit: Visit, number: Number, contact: Contact
) -> None:
    with writing():
        number.move_to(NumberStatus.BANNED)
    page = visit(f"inbox/{contact.id}")
    assert re.search('<p class="problem">.* banned .*</a>', page)
    assert "<textarea" not in page


def test_another_accounts_conversation_is_not_there(visit: Visit, submit: Submit, api: Api) -> None:
    theirs = factories.active_number(Account.open("Other", "pro"), "1002")
    message: Message = factories.outbound(theirs)
    visit(f"inbox/{message.contact_id}", 404)
    submit(f"inbox/{message.contact_id}", 404, reply="text", text="Hi", once="k")
    visit(f"inbox?number_id={theirs.id}", 404)
    assert api.asked == []


def test_another_accounts_template_is_not_there(
    visit: Visit, contact: Contact, clock: Clock
) -> None:
    clock.advance(seconds=1)
    theirs = factories.active_number(Account.open("Other", "pro"), "1002", "2002")
    known(theirs, definition())
    [chosen] = Template.rows_of(theirs, name="order_shipped")
    visit(f"inbox/{contact.id}?reply=template&template={chosen.id}", 404)
