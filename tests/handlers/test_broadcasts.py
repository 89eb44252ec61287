"""The operations of broadcasts: what is refused before anything is stored, and what their lists show."""

import asyncio
import json
from io import BytesIO
from typing import Any

import pytest

from handlers import broadcasts as handlers
from models.accounts.account import Account
from models.broadcasts.broadcast import Broadcast
from models.broadcasts.recipient import BroadcastRecipient
from models.errors import ConflictError, DomainError, NotFoundError
from models.numbers.number import Number
from services import recipient_files, template_reads, templates
from tests import factories
from tests.fake_templates import Network, definition, known
from tests.structure.test_contract_shapes import check_shape

ANN, BEN = "4915100000001", "4915100000002"
BODY = {"type": "BODY", "text": "Hello {{1}}."}
TEMPLATE = {
    "name": "offer",
    "language": {"code": "en_US"},
    "components": [{"type": "body", "parameters": [{"type": "text", "text": "{{name}}"}]}],
}


def file_of(text: str) -> BytesIO:
    """An uploaded file."""
    return BytesIO(text.encode())


@pytest.fixture
def network(number: Number, monkeypatch: pytest.MonkeyPatch) -> Network:
    """The network of the number, with a marketing template."""
    found = Network(definition("offer", "en_US", BODY, category="MARKETING"))
    for module in (templates, template_reads):
        monkeypatch.setattr(module, "network_of", lambda _: found)
    known(number, *found.templates)
    return found


def request_of(number: Number, **changes: Any) -> dict[str, Any]:
    """A request with two recipients."""
    people = [{"to": to, "parameters": {"name": "Ann"}} for to in (ANN, BEN)]
    given = {"name": "Spring", "numberId": number.id, "type": "template", "template": TEMPLATE}
    return given | {"recipients": people} | changes


def text_of(number: Number, **changes: Any) -> dict[str, Any]:
    """A request with a text to one person."""
    given = {
        "name": "Late",
        "numberId": number.id,
        "type": "text",
        "text": {"body": "We are late."},
    }
    return given | {"recipients": [{"to": ANN}]} | changes


def create(account: Account, request: dict[str, Any], key: str | None = None) -> dict[str, Any]:
    """The broadcast that the request creates."""
    answer = asyncio.run(handlers.create_broadcast(account.id, request, key))
    assert answer.status_code == 201
    shown: dict[str, Any] = json.loads(bytes(answer.body))
    check_shape("Broadcast", shown)
    return shown


def refused(account: Account, request: dict[str, Any]) -> DomainError:
    """The error of a request, which creates nothing."""
    with pytest.raises(DomainError) as caught:
        asyncio.run(handlers.create_broadcast(account.id, request))
    assert not Broadcast.select().exists()
    assert (
        not BroadcastRecipient.select().where(BroadcastRecipient.list_id.startswith("bc_")).exists()
    )
    return caught.value


@pytest.mark.usefixtures("network")
def test_a_marketing_template_is_a_draft_with_hours_of_the_day(
    account: Account, number: Number
) -> None:
    shown = create(account, request_of(number))
    assert (shown["status"], shown["counts"]["waiting"]) == ("draft", 2)
    assert shown["localHours"] == {"begin": "08:00", "end": "21:00"}
    assert shown["body"] == TEMPLATE
    hours = {"begin": "00:00", "end": "24:00"}
    assert create(account, request_of(number, localHours=hours))["localHours"] == hours


def test_a_text_may_leave_at_any_time(account: Account, number: Number) -> None:
    assert create(account, text_of(number))["localHours"] is None


PLACES: dict[str, tuple[dict[str, Any], str]] = {
    "a person twice": ({"recipients": [{"to": ANN}, {"to": BEN}, {"to": ANN}]}, "/recipients/2/to"),
    "no recipients": ({"recipients": None}, "/recipients"),
    "both kinds": ({"recipientsFile": "rf_1"}, "/recipients"),
    "hours over midnight": ({"localHours": {"begin": "20:00", "end": "08:00"}}, "/localHours/end"),
    "a start in the past": ({"startAt": "2026-11-19T09:00:00Z"}, "/startAt"),
    "a start in a year": ({"startAt": "2027-11-19T09:00:00Z"}, "/startAt"),
    "a start without a zone": ({"startAt": "2026-11-21T09:00:00"}, "/startAt"),
    "an end in the past": ({"expiresAt": "2026-11-20T09:00:00Z"}, "/expiresAt"),
    "an end before the start": (
        {"startAt": "2026-11-21T09:00:00Z", "expiresAt": "2026-11-21T08:00:00Z"},
        "/expiresAt",
    ),
    "a missing parameter": ({"text": {"body": "Hi {{name}}"}}, "/recipients/0/parameters"),
}


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("name", PLACES)
def test_a_wrong_request_names_its_place_and_creates_nothing(
    account: Account, number: Number, name: str
) -> None:
    changes, place = PLACES[name]
    request = {k: v for k, v in text_of(number, **changes).items() if v is not None}
    assert refused(account, request).details["field"] == place


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"name": "other"}, "/template/name"),
        ({"components": []}, "/template/components"),
    ],
)
def test_a_template_that_the_network_would_refuse_creates_nothing(
    account: Account, number: Number, changes: dict[str, Any], place: str
) -> None:
    error = refused(account, request_of(number, template=TEMPLATE | changes))
    assert error.details["field"] == place


def test_a_repeated_request_with_its_key_creates_one(account: Account, number: Number) -> None:
    first = create(account, text_of(number), "key-1")
    assert create(account, text_of(number), "key-1") == first
    with pytest.raises(ConflictError):
        create(account, text_of(number, name="Other"), "key-1")
    assert len(Broadcast.all()) == 1


def test_a_file_gives_its_recipients_to_one_broadcast(account: Account, number: Number) -> None:
    file = recipient_files.upload(account.id, file_of(f"to,name\n{ANN},Ann\n{BEN},Ben"), "a.csv")
    request = text_of(number, recipientsFile=file.id, text={"body": "Hi {{name}}"})
    del request["recipients"]
    shown = create(account, request)
    assert shown["counts"]["total"] == shown["counts"]["waiting"] == 2
    with pytest.raises(ConflictError) as caught:
        create(account, request)
    assert caught.value.details["field"] == "/recipientsFile"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("to,name\n{0},Ann\n0171,Ben", "Hi {{name}}"),
        ("to,name\n{0},", "Hi {{name}}"),
        ("to,name\n{0},Ann", "Hi {{nam}}"),
        ("to,name\n", "Hi"),
    ],
    ids=["wrong rows", "an empty cell", "no such column", "nobody"],
)
def test_a_file_that_does_not_fit_creates_nothing(
    account: Account, number: Number, content: str, text: str
) -> None:
    file = recipient_files.upload(account.id, file_of(content.format(ANN)), "a.csv")
    request = text_of(number, recipientsFile=file.id, text={"body": text})
    del request["recipients"]
    assert refused(account, request).details["field"] == "/recipientsFile"
    if "0171" in content:
        assert create(account, request | {"skipWrongRows": True})["counts"]["total"] == 1


def test_each_state_allows_only_its_changes(account: Account, number: Number) -> None:
    allowed = {
        "draft": {"start", "cancel"},
        "running": {"pause", "cancel"},
        "paused": {"resume", "cancel"},
        "cancelled": set(),
    }
    changes = {
        "start": handlers.start_broadcast,
        "pause": handlers.pause_broadcast,
        "resume": handlers.resume_broadcast,
        "cancel": handlers.cancel_broadcast,
    }
    ways: dict[str, list[str]] = {
        "draft": [],
        "running": ["start"],
        "paused": ["start", "pause"],
        "cancelled": ["cancel"],
    }
    for state, verbs in ways.items():
        for verb, change in changes.items():
            row = factories.broadcast(number, ANN)
            for step in verbs:
                changes[step](account.id, row.id)
            if verb in allowed[state]:
                assert change(account.id, row.id)["id"] == row.id
            else:
                with pytest.raises(ConflictError):
                    change(account.id, row.id)
                assert handlers.get_broadcast(account.id, row.id)["status"] == state


def test_recipients_are_listed_in_their_order_and_by_status(
    account: Account, number: Number
) -> None:
    people = [f"49151000000{at:02}" for at in range(30)]
    row = factories.broadcast(number, *people)
    seen, after = list[str](), None
    while True:
        page = _page(account, row, limit=12, after=after)
        check_shape("BroadcastRecipientPage", page)
        seen += [each["to"] for each in page["data"]]
        after = page["pagination"]["nextCursor"]
        if after is None:
            break
    assert seen == people
    assert _page(account, row, status="waiting")["pagination"]["total"] == 30
    assert _page(account, row, status="sent")["data"] == []


def _page(account: Account, row: Broadcast, **query: Any) -> dict[str, Any]:
    query = {"limit": 20, "offset": 0} | query
    answer: Any = handlers.list_broadcast_recipients(account.id, row.id, **query)
    shown: dict[str, Any] = json.loads(bytes(answer.body))
    return shown


def test_an_unknown_file_is_not_found(account: Account, number: Number) -> None:
    request = text_of(number, recipientsFile="rf_01JD5Z8K4T9QW3X7VB2N6M1R0P")
    del request["recipients"]
    assert isinstance(refused(account, request), NotFoundError)
