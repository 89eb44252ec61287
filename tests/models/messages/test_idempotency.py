"""Idempotency keys: each stands for one request of one account, for 24 hours."""

import asyncio

import pytest
from peewee import IntegrityError

from models.accounts.account import Account
from models.database import writing
from models.messages.idempotency import WINDOW_MS, IdempotencyKey
from models.messages.message import Message
from models.numbers.number import Number
from services import sending
from tests import factories
from tests.conftest import Clock
from tests.fake_network import accept_all

KEY = "order-4711"


def _claim(number: Number, fingerprint: str = "first", key: str = KEY) -> Message:
    message = factories.outbound(number)
    with writing():
        IdempotencyKey.claim(number.account_id, key, fingerprint, message)
    return message


def _fingerprint(number: Number, key: str = KEY) -> str | None:
    found = IdempotencyKey.find(number.account_id, key)
    return None if found is None else found.fingerprint


def test_a_key_is_known_for_24_hours_and_no_longer(clock: Clock, number: Number) -> None:
    _claim(number)
    assert _fingerprint(number) == "first"
    clock.advance(hours=24, milliseconds=-1)
    assert _fingerprint(number) == "first"
    clock.advance(milliseconds=1)
    assert _fingerprint(number) is None


def test_the_24_hours_begin_with_the_claim_and_not_with_the_answer(
    clock: Clock, number: Number
) -> None:
    message = _claim(number)
    clock.advance(hours=1)
    with writing():
        IdempotencyKey.answer(message, 200, "{}")
    clock.advance(hours=23)
    assert _fingerprint(number) is None


def test_an_expired_key_can_be_claimed_by_the_next_request(clock: Clock, number: Number) -> None:
    """The response of the day before is not replayed."""
    first = _claim(number)
    with writing():
        IdempotencyKey.answer(first, 429, "{}", retry_after=30)
    clock.advance(hours=24)
    second = _claim(number, "second")
    found = IdempotencyKey.find(number.account_id, KEY)
    assert found is not None
    assert (found.fingerprint, found.message_id) == ("second", second.id)
    assert (found.response_status, found.response_body, found.retry_after) == (None, None, None)
    clock.advance(hours=24, milliseconds=-1)
    assert _fingerprint(number) == "second"


def test_only_expired_keys_are_forgotten(clock: Clock, number: Number) -> None:
    _claim(number, key="old")
    clock.advance(hours=12)
    _claim(number, key="new")
    clock.advance(hours=12, milliseconds=1)
    with writing():
        assert IdempotencyKey.forget_expired() == 1
        assert IdempotencyKey.forget_expired() == 0
    assert [row.key for row in IdempotencyKey.select()] == ["new"]


def test_a_claim_that_never_got_an_answer_expires_like_any_other(
    clock: Clock, number: Number
) -> None:
    _claim(number)
    clock.at += WINDOW_MS
    assert _fingerprint(number) is None


def test_accounts_do_not_share_their_keys(number: Number) -> None:
    other = factories.active_number(Account.open("Other", "pro"), "1002", "2002")
    _claim(number)
    assert _fingerprint(other) is None
    _claim(other, "other")
    assert (_fingerprint(number), _fingerprint(other)) == ("first", "other")


def test_keys_differ_by_case_and_are_not_trimmed(number: Number) -> None:
    _claim(number)
    assert _fingerprint(number, KEY.upper()) is None
    assert _fingerprint(number, f"{KEY} ") is None


def test_an_answer_is_kept(number: Number) -> None:
    message = _claim(number)
    with writing():
        IdempotencyKey.answer(message, 500, "unclear", retry_after=None)
    found = IdempotencyKey.find(number.account_id, KEY)
    assert found is not None
    assert (found.response_status, found.response_body) == (500, "unclear")


@pytest.mark.parametrize(
    ("status", "is_refused"), [(None, False), (400, True), (499, True), (500, False)]
)
def test_only_a_client_error_says_that_nothing_was_sent(
    status: int | None,
    is_refused: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert IdempotencyKey(response_status=status).is_refused is is_refused


def test_a_message_knows_its_own_keys(number: Number) -> None:
    message = _claim(number)
    with writing():
        IdempotencyKey.claim(number.account_id, "its mark", "first", message)
    _claim(number, key="of another message")
    assert IdempotencyKey.keys_of(message.id) == {KEY, "its mark"}


def test_an_erased_key_keeps_nothing_of_its_request(number: Number) -> None:
    message = _claim(number)
    kept = _claim(number, key="of another message")
    with writing():
        for each in (message, kept):
            IdempotencyKey.answer(each, 400, "about a person")
        IdempotencyKey.erase([message.id])
    columns = (
        IdempotencyKey.fingerprint,
        IdempotencyKey.response_status,
        IdempotencyKey.response_body,
    )
    rows = IdempotencyKey.select(*columns).order_by(IdempotencyKey.id).tuples()
    assert list(rows) == [("", None, None), ("first", 400, "about a person")]


def test_a_thousand_expired_keys_are_forgotten_at_a_time(clock: Clock, number: Number) -> None:
    rows = [
        {"account": number.account_id, "key": f"{n}", "fingerprint": "", "created_at": clock.at}
        for n in range(1001)
    ]
    with writing():
        IdempotencyKey.insert_many(rows).execute()
    clock.at += WINDOW_MS + 1
    with writing():
        assert [IdempotencyKey.forget_expired() for _ in range(3)] == [1000, 1, 0]


def test_a_released_key_is_free_at_once(number: Number) -> None:
    message = _claim(number)
    with writing():
        IdempotencyKey.release(message)
    assert _fingerprint(number) is None
    _claim(number, "second")
    assert _fingerprint(number) == "second"


def test_a_request_is_replayed_for_24_hours_and_then_sent_again(
    clock: Clock, number: Number, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = accept_all(monkeypatch)
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": "Hello"}}

    def send() -> tuple[str, bool]:
        response = asyncio.run(sending.send(number.account_id, body, KEY))
        return response.body, response.is_replayed

    first, _ = send()
    clock.advance(hours=24, milliseconds=-1)
    assert send() == (first, True)
    clock.advance(milliseconds=1)
    second, is_replayed = send()
    assert (second != first, is_replayed) == (True, False)
    assert send() == (second, True)
    assert len(sent) == 2


def test_the_database_itself_refuses_a_second_row_for_a_key(number: Number) -> None:
    _claim(number)
    message = factories.outbound(number)
    with pytest.raises(IntegrityError), writing():
        IdempotencyKey.create(
            account=number.account_id, key=KEY, fingerprint="x", message=message.id, created_at=0
        )
