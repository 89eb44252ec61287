"""Searching texts: indexed and new messages give one result."""

from collections.abc import Sequence

import pytest

from models.accounts.account import Account
from models.messages import search
from models.messages.message import Message
from models.messages.search import SearchBlock, SearchWords, add, find
from models.messages.words import words_of
from models.numbers.number import Number
from tests import factories
from tests.conftest import Clock
from tests.plans import queries_of

HOUR = 3_600_000


def _write(number: Number, *texts: str) -> list[str]:
    return [factories.outbound(number, text=text).id for text in texts]


def _add(clock: Clock, count: int = 1000, *, hurry: bool = True) -> int:
    later = clock.advance(milliseconds=1)
    return add(later, later if hurry else 0, count)


def _ids(account: Account, text: str, limit: int = 100, before: str | None = None) -> list[str]:
    return [row.id for row in find(account.id, words_of(text), limit, before).rows]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks and parts."""
    monkeypatch.setattr(search, "BLOCK_SIZE", 3)
    monkeypatch.setattr(search, "PART", 2)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("indexed", [0, 4, 7, 10])
def test_indexing_in_any_batch_size_gives_the_same_results(
    account: Account, number: Number, clock: Clock, indexed: int
) -> None:
    texts = ["red", "red green", "green", "blue", "Red blue", "green", "redder", "blue", "red", ""]
    ids = _write(number, *texts[:indexed])
    assert _add(clock) == indexed
    ids += _write(number, *texts[indexed:])

    def expected(*positions: int) -> Sequence[str]:
        return [ids[position] for position in positions]

    assert _ids(account, "red") == expected(8, 6, 4, 1, 0)
    assert _ids(account, "red blue") == expected(4)
    assert _ids(account, "redd") == expected(6)
    assert _ids(account, "green red") == expected(1)
    assert _ids(account, "yellow") == []
    assert _ids(account, "red", limit=2) == expected(8, 6)
    assert _ids(account, "red", before=ids[6]) == expected(4, 1, 0)


@pytest.mark.usefixtures("small")
def test_the_next_search_continues_where_the_last_one_ended(
    account: Account, number: Number, clock: Clock
) -> None:
    ids = _write(number, *["red"] * 8)
    _add(clock, 6)
    found, before = [], None
    while True:
        part = find(account.id, ["red"], 3, before)
        found += [row.id for row in part.rows]
        if (before := part.before) is None:
            break
    assert found == ids[::-1]


@pytest.mark.usefixtures("small")
def test_a_search_that_read_too_much_says_where_it_ended(
    account: Account, number: Number, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_READ", 4)
    ids = _write(number, "red blue", *["red", "blue"] * 3)
    _add(clock)
    part = find(account.id, ["red", "blue"], 5)
    assert part.rows == []
    assert part.before is not None
    assert [row.id for row in find(account.id, ["red", "blue"], 5, part.before).rows] == ids[:1]


def test_accounts_share_the_index_and_no_result(
    account: Account, number: Number, clock: Clock
) -> None:
    other = Account.open("Other", "pro")
    theirs = factories.active_number(other, "1002", "2002", phone_number="15550002222")
    token = account.id.replace("_", "")
    [ours] = _write(number, "red")
    [their] = _write(theirs, f"red {account.id} {token}")
    [later] = _write(number, "red")
    for _ in range(2):
        assert _ids(account, "red") == [later, ours]
        assert _ids(other, "red") == [their]
        assert _ids(account, token) == []
        _add(clock)


def test_a_block_waits_until_it_is_full_or_old(number: Number, clock: Clock) -> None:
    _write(number, "red", "green")
    assert _add(clock, 3, hurry=False) == 0
    _write(number, "blue")
    assert _add(clock, 3, hurry=False) == 3
    _write(number, "red")
    assert _add(clock, 3, hurry=False) == 0
    assert _add(clock, 3) == 1


def test_messages_newer_than_the_bound_are_not_indexed_yet(number: Number, clock: Clock) -> None:
    _write(number, "red")
    assert add(clock.at - 1, clock.at - 1, 1) == 0
    assert SearchBlock.select().count() == 0


def test_a_worker_that_was_slower_adds_nothing(
    account: Account, number: Number, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    [message_id] = _write(number, "red")
    first_look = SearchBlock.newest

    def look_while_another_adds() -> SearchBlock | None:
        found = first_look()
        monkeypatch.setattr(SearchBlock, "newest", first_look)
        _add(clock)
        return found

    monkeypatch.setattr(SearchBlock, "newest", look_while_another_adds)
    assert _add(clock) == 0
    assert SearchBlock.select().count() == SearchWords.select().count() == 1
    assert _ids(account, "red") == [message_id]


def test_messages_without_words_are_passed_by(
    account: Account, number: Number, clock: Clock
) -> None:
    _write(number, "", "🙂")
    assert _add(clock) == 2
    assert _add(clock) == 0
    assert _ids(account, "red") == []


def test_a_huge_text_fits(account: Account, number: Number, clock: Clock) -> None:
    huge = " ".join(f"wört{each}" for each in range(20_000))
    ids = _write(number, *[huge] * 70, "red")
    assert _add(clock) == 71
    assert _ids(account, "red") == ids[-1:]


def test_a_removed_message_is_found_no_more(account: Account, number: Number, clock: Clock) -> None:
    first, second = _write(number, "red", "red")
    _add(clock)
    Message.delete().where(Message.id == first).execute()
    assert _ids(account, "red") == [second]


def test_a_removed_block_takes_its_words_along(number: Number, clock: Clock) -> None:
    _write(number, "red")
    _add(clock)
    SearchBlock.delete().execute()
    assert SearchWords.select().count() == 0


def test_indexing_continues_after_all_blocks_are_removed(
    account: Account, number: Number, clock: Clock
) -> None:
    _write(number, "red")
    _add(clock)
    SearchBlock.delete().execute()
    Message.delete().execute()
    ids = _write(number, "red")
    assert _add(clock) == 1
    assert _ids(account, "red") == ids


@pytest.mark.parametrize("typed", ["'", '"', "\\", "a:*", "NOT", "AND", "red & !blue", "(", "x*"])
def test_search_text_has_no_special_characters(
    account: Account, number: Number, clock: Clock, typed: str
) -> None:
    ids = _write(number, f"red {typed} blue")
    _add(clock)
    assert _ids(account, f"red {typed}") == ids


def test_no_search_looks_at_every_row_or_sorts_messages(
    account: Account, number: Number, clock: Clock
) -> None:
    _write(number, "red", "blue")
    _add(clock, 1)
    queries = queries_of(lambda: find(account.id, ["red"], 1, "msg_8"))
    queries += queries_of(lambda: _add(clock))
    assert len(queries) > 3
    complaints = [
        (query.sql, each)
        for query in queries
        # The newest blocks with the words are read.
        if "search_block" not in query.sql
        for each in query.complaints()
    ]
    assert complaints == []
