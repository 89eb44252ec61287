"""Uploads of recipients: all of a file are stored or none, and they wait a day for a broadcast."""

import time
from io import BytesIO
from typing import Any

import pytest

from models.accounts.account import Account
from models.accounts.audit import Audit
from models.broadcasts.recipient import BroadcastRecipient, Entry
from models.broadcasts.recipients_file import MOST_UPLOAD_MS, RecipientsFile
from models.clock import DAY_MS
from models.database import fetch, writing
from models.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    RateLimitedError,
)
from services import recipient_files
from tasks import retention
from tests.conftest import Clock

PHONE, OTHER, ID = "491711234567", "491711234568", "US.1001"
LIST = f"Name;Phone;Reference\r\nAnna;{PHONE};order-1\r\n;0171 1234568;\r\nCarl;{ID};\r\nDora;+{PHONE};\r\n"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipient_files, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(retention, "PAUSE_SECONDS", 0)


def upload(account: Account, content: str = LIST, **given: Any) -> RecipientsFile:
    return recipient_files.upload(account.id, BytesIO(content.encode()), "list.csv", **given)


def stored(list_id: str | None = None) -> list[tuple[Any, ...]]:
    rows = fetch(BroadcastRecipient.select().order_by(BroadcastRecipient.id))
    wanted = [row for row in rows if list_id in {None, row.list_id}]
    return [(row.to_number, row.parameters, row.reference) for row in wanted]


def files() -> list[str]:
    return [row.id for row in RecipientsFile.all()]


def test_the_recipients_of_a_file_are_stored_with_a_summary(account: Account, clock: Clock) -> None:
    row = RecipientsFile.usable(upload(account, country="DE").id, account.id)
    assert stored(row.id) == [(PHONE, {"Name": "Anna"}, "order-1"), (ID, {"Name": "Carl"}, None)]
    assert (row.filename, row.kind, row.encoding, row.delimiter) == (
        "list.csv",
        "csv",
        "utf-8",
        ";",
    )
    assert (row.to_column, row.reference_column) == ("Phone", "Reference")
    assert (row.rows, row.recipients, row.duplicates, row.wrong) == (4, 2, 1, 1)
    [error] = row.errors
    assert (error["line"], error["column"], error["corrected"]) == (3, "Phone", OTHER)
    assert row.columns == [{"name": "Name", "empty": 0, "firstEmptyLine": None}]
    assert (row.stored_at, row.expires_at) == (clock.at, clock.at + DAY_MS)
    [audit] = fetch(Audit.select())
    assert (audit.action, audit.subject, audit.after) == (
        "recipients.uploaded",
        row.id,
        {"recipients": 2},
    )


def test_recipients_are_stored_and_removed_in_batches_with_pauses(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = list[float]()
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(recipient_files, "PAUSE_SECONDS", 0.5)
    monkeypatch.setattr(recipient_files, "BATCH", 2)
    people = [f"4917112345{number}" for number in range(10, 15)]
    row = upload(account, "\n".join(["to", *people]))
    assert [to for to, *_ in stored(row.id)] == people
    assert pauses.count(0.5) == 3
    with pytest.raises(InvalidError):
        upload(account, "\n".join(["to,name", *(f"{each}," for each in people), f'{ID},"x']))
    # Two batches were stored, and are removed.
    assert pauses.count(0.5) == 3 + 2 + 2


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_of_a_file_that_breaks_off_nothing_stays(
    account: Account, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(recipient_files, "BATCH", batch)
    kept = upload(account, f"to\n{PHONE}\n")
    with pytest.raises(InvalidError):
        upload(account, f'to,name\n{PHONE},Anna\n{OTHER},Bert\n{ID},"Carl\n')
    assert files() == [kept.id]
    assert len(stored()) == 1
    assert len(fetch(Audit.select())) == 1


def test_a_file_without_a_name_has_one(account: Account) -> None:
    row = recipient_files.upload(account.id, BytesIO(b"to\n"), " ../ ")
    assert row.filename not in {"", " ../ "}
    assert recipient_files.upload(account.id, BytesIO(b"to\n"), "").filename == "recipients"


def test_an_account_uploads_one_file_at_a_time(account: Account) -> None:
    refused = list[RateLimitedError]()

    class File(BytesIO):
        def seek(self, *place: int) -> int:
            if not refused:
                with pytest.raises(RateLimitedError) as error:
                    upload(account)
                refused.append(error.value)
            return super().seek(*place)

    row = recipient_files.upload(account.id, File(LIST.encode()), "list.csv")
    assert files() == [row.id]
    assert upload(account).recipients == 2


def test_an_account_has_few_recipients_that_no_broadcast_uses(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipient_files, "MOST_UNUSED", 4)
    first, _ = upload(account), upload(account)
    upload(Account.open("Other", "pro"))
    with pytest.raises(ConflictError):
        upload(account)
    with writing():
        assert first.use("bc_1")
    upload(account)


def test_a_file_is_the_accounts_own_and_usable_for_a_day(account: Account, clock: Clock) -> None:
    row = upload(account)
    with pytest.raises(ForbiddenError) as forbidden:
        RecipientsFile.usable(row.id, Account.open("Other", "pro").id, "/recipientsFile")
    assert forbidden.value.details == {"field": "/recipientsFile"}
    clock.advance(hours=23)
    assert RecipientsFile.usable(row.id, account.id).id == row.id
    clock.advance(hours=1)
    with pytest.raises(NotFoundError):
        RecipientsFile.usable(row.id, account.id)
    with writing():
        assert not row.use("bc_1")


def test_an_unfinished_upload_is_not_usable_and_removed(account: Account, clock: Clock) -> None:
    with writing():
        row = RecipientsFile.begin(account.id, "list.csv")
        BroadcastRecipient.add_many(row.id, [Entry(PHONE, {})])
        assert not row.use("bc_1")
    assert (row.rows, row.recipients, row.duplicates, row.wrong) == (0, 0, 0, 0)
    with pytest.raises(NotFoundError):
        RecipientsFile.usable(row.id, account.id)
    clock.at += MOST_UPLOAD_MS - 1
    retention.remove_old()
    assert files() == [row.id]
    clock.at += 1
    retention.remove_old()
    assert (files(), stored()) == ([], [])


def test_one_broadcast_uses_a_file(account: Account) -> None:
    row = upload(account)
    with writing():
        assert row.use("bc_1")
        assert not row.use("bc_2")
    assert RecipientsFile.get_by_id(row.id).broadcast_id == "bc_1"


def test_expired_files_are_removed_in_batches_with_their_recipients(
    account: Account, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    used, unused = upload(account), upload(account)
    with writing():
        assert used.use("bc_1")
    clock.advance(days=1, seconds=-1)
    later = upload(account)
    clock.advance(seconds=1)
    monkeypatch.setattr(retention, "BATCH_SIZE", 1)
    monkeypatch.setattr(retention, "MAX_BATCHES", 2)
    retention.remove_old()
    assert used.id not in files()
    assert len(stored(unused.id)) == 1
    for _ in range(3):
        retention.remove_old()
    assert files() == [later.id]
    # Those of a broadcast go with it.
    assert [len(stored(each.id)) for each in (used, unused, later)] == [2, 0, 2]


def test_nothing_is_removed_while_nothing_expired(account: Account, clock: Clock) -> None:
    upload(account)
    assert RecipientsFile.remove_expired(clock.at, 10) == 0


def test_a_file_that_a_broadcast_got_meanwhile_keeps_its_recipients(
    account: Account, clock: Clock
) -> None:
    row = upload(account)
    with writing():
        assert row.use("bc_1")
    # As the removal found it before.
    row.broadcast_id = None
    clock.advance(days=1)
    row.discard(10)
    assert len(stored(row.id)) == 2
