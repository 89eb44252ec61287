"""Full-text search of messages (docs/decisions/0050-search-in-blocks.md).

The worker adds messages to the index in blocks of up to BLOCK_SIZE messages of one account. The database's
full-text index, FTS5 or GIN, has the words of each block. A search reads the messages of the blocks that have
all words, the messages that are in no block yet, and those that arrived late, newest first. So it finds new
messages at once, and a send does not write to the index.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Self

from peewee import (
    SQL,
    BigIntegerField,
    Cast,
    Model,
    NodeList,
    PostgresqlDatabase,
    TextField,
    Value,
    fn,
)

from models.clock import id_bound
from models.database import (
    BaseModel,
    Prepared,
    answers_at_once,
    database,
    fetch,
    is_among,
    is_in,
    reading,
    write,
    writing,
)
from models.messages.message import CONTENT, IS_BACKDATED, Message
from models.messages.words import has_all, is_prefix, may_have, words_in
from models.page import Newest

# Larger blocks: a search reads more messages that do not match. Smaller blocks: the index is larger.
BLOCK_SIZE = 64
# The most bytes of one message in the index: PostgreSQL accepts 1 MB for a block.
MOST_BYTES = 8_000
# The most messages and characters that a search reads in all, and the most messages of one query.
MOST_READ, MOST_READ_CHARACTERS = 3_000, 8_000_000
PART = 500
AFTER_ALL = id_bound("msg", 2**48 - 1)
# The lock against two workers adding the same messages.
INDEX = "search index"
# A merge that changes fewer rows has found nothing to merge (SQLite, FTS5, the merge command).
LEAST_MERGED = 2


class SearchBlock(BaseModel):
    """Consecutive messages of an account. ``id`` is that of the first one, so the block has its age.

    Blocks are numbered in the order of their last messages.
    """

    id = TextField(primary_key=True)
    last_id = TextField()
    account_id = TextField()
    number = BigIntegerField(unique=True)

    class Meta:
        indexes = ((("account_id", "id"), False),)

    @classmethod
    def newest(cls) -> Self | None:
        """The last block. All messages up to its last one are in blocks."""
        newest: Self | None = cls.select().order_by(cls.number.desc()).first()
        return newest


class SearchWords(Model):
    """The words of the block with this number. The migration makes the table for each database."""

    rowid = BigIntegerField(primary_key=True)
    words = TextField()

    class Meta:
        database = database
        table_name = "search_words"


_ON_SQLITE = (
    # The text is already split into words. Phrase search is not needed.
    "CREATE VIRTUAL TABLE IF NOT EXISTS search_words USING fts5(words, tokenize='ascii', detail='none')",
    """
    CREATE TRIGGER IF NOT EXISTS search_words_out AFTER DELETE ON search_block
    BEGIN DELETE FROM search_words WHERE rowid = OLD.number; END
    """,
)
_ON_POSTGRESQL = (
    """
    CREATE TABLE IF NOT EXISTS search_words (
        rowid BIGINT PRIMARY KEY REFERENCES search_block (number) ON DELETE CASCADE,
        words TSVECTOR NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS search_words_words ON search_words USING gin (words)",
)
# 64 pages in one transaction. The minus sign merges all segments into one.
_MERGE = "INSERT INTO search_words (search_words, rank) VALUES ('merge', -64)"


def create_words(connected: Any) -> None:
    """Create the index of the words, next to the table of the blocks."""
    on_postgresql = isinstance(connected, PostgresqlDatabase)
    for statement in _ON_POSTGRESQL if on_postgresql else _ON_SQLITE:
        connected.execute_sql(statement)


def find(
    account_id: str, words: Sequence[str], limit: int, before: str | None = None
) -> Newest[Message]:
    """The account's messages with all these words (models.messages.words), older than ``before``, a message.

    It ends early, with fewer than ``limit``, after MOST_READ messages or MOST_READ_CHARACTERS.
    """
    found: list[str] = []
    characters, last = 0, None
    with reading():
        for read, row in enumerate(_candidates(account_id, words, before), 1):
            message_id, content = row[0], _content(*row)
            characters += len(content)
            if may_have(content, words) and has_all(words_in(content), words):
                found.append(message_id)
            if len(found) == limit or read == MOST_READ or characters > MOST_READ_CHARACTERS:
                last = message_id
                break
        query = Message.select(*CONTENT.columns).where(Message.id.in_(found))
        return Newest(list(query.order_by(Message.id.desc())), last)


def _content(message_id: str, short: str | None) -> str:
    """The content of a message. One that is too long to show has no words."""
    return (CONTENT.read(message_id) if short is None else short) or "{}"


def _candidates(
    account_id: str, words: Sequence[str], before: str | None
) -> Iterator[tuple[str, str | None]]:
    """Identifier and short content of messages that may match, newest first."""
    both = _recent(account_id, words, before), _late(account_id, before)
    rows = heapq.merge(*both, key=_identifier, reverse=True)
    # A late message may be in a block.
    return (next(group) for _, group in groupby(rows, _identifier))


def _identifier(row: tuple[str, str | None]) -> str:
    return row[0]


def _late(account_id: str, before: str | None) -> Iterator[tuple[str, str | None]]:
    """Messages with an identifier of their own time. Newer messages may have been in blocks already."""
    below = before or AFTER_ALL
    while part := list(_old.execute(account_id, below, PART)):
        yield from part
        below = part[-1][0]


def _recent(
    account_id: str, words: Sequence[str], before: str | None
) -> Iterator[tuple[str, str | None]]:
    """The messages that are in no block yet, and those of the blocks that have all words."""
    newest = SearchBlock.newest()
    above, below = newest.last_id if newest else "", before or AFTER_ALL
    while part := list(_above.execute(account_id, above, below, PART)):
        yield from part
        below = part[-1][0]
    for first, last in _blocks(account_id, words, before):
        yield from _between.execute(account_id, first, last, below)


def _blocks(account_id: str, words: Sequence[str], before: str | None) -> list[tuple[str, str]]:
    """The first and the last message of the newest blocks of the account that have all words."""
    numbers = SearchWords.select(SearchWords.rowid).where(_has(account_id, words))
    query = SearchBlock.select(SearchBlock.id, SearchBlock.last_id)
    query = query.where(SearchBlock.account_id == account_id, is_among(SearchBlock.number, numbers))
    if before is not None:
        query = query.where(SearchBlock.id < before)
    newest_first = query.order_by(SearchBlock.number.desc())
    return fetch(newest_first.limit(MOST_READ // BLOCK_SIZE + 1).tuples())


def _has(account_id: str, words: Sequence[str]) -> Any:
    """The condition on the index. The account is a word too, so other accounts' messages cost nothing."""
    named = (f'"{_token(account_id)}"', *(f'"{word}"{"*" * is_prefix(word)}' for word in words))
    if not isinstance(database.obj, PostgresqlDatabase):
        return NodeList((SQL("search_words MATCH"), Value(" AND ".join(named))))
    query = " & ".join(each.replace('"', "'").replace("*", ":*") for each in named)
    return NodeList((SearchWords.words, SQL("@@"), Cast(query, "tsquery")))


def _token(account_id: str) -> str:
    return account_id.replace("_", "").lower()


def add(until: int, hurry_until: int, count: int) -> int:
    """Put the next ``count`` messages, created before ``until``, into blocks. Returns how many.

    Does nothing while there are fewer, unless the oldest is from before ``hurry_until``. Times in ms.
    """
    with reading():
        newest = SearchBlock.newest()
        is_new = Message.id > (newest.last_id if newest else "")
        query = Message.select(Message.id, Message.account, CONTENT.short)
        query = query.where(is_new, Message.id < id_bound("msg", until))
        rows = fetch(query.order_by(Message.id).limit(count).tuples())
    is_old = bool(rows) and rows[0][0] < id_bound("msg", hurry_until)
    if len(rows) < count and not is_old:
        return 0
    blocks = sorted(_blocks_of(rows), key=lambda block: block[0].last_id)
    ids = [row[0] for row in rows]
    return len(rows) if write(lambda: _store(newest, ids, blocks), INDEX) else 0


def forget(account_id: str, removed: Sequence[str]) -> None:
    """Rewrite the words of the blocks of removed messages, inside the transaction that removed them."""
    for block in _blocks_with(account_id, removed):
        words = _words_of(
            account_id, _between.execute(account_id, block.id, block.last_id, AFTER_ALL)
        )
        SearchWords.delete().where(SearchWords.rowid == block.number).execute()
        _insert_words.execute(block.number, words)


def _blocks_with(account_id: str, message_ids: Sequence[str]) -> Iterable[SearchBlock]:
    """The account's blocks that have these messages. Blocks of one account do not overlap."""
    ours = SearchBlock.select().where(SearchBlock.account_id == account_id)
    newest_first = ours.order_by(SearchBlock.id.desc())
    found = ((newest_first.where(SearchBlock.id <= each).first(), each) for each in message_ids)
    return {block.id: block for block, each in found if block and each <= block.last_id}.values()


def merge() -> bool:
    """Merge a part of the index on SQLite. Returns whether there is more to merge.

    FTS5 marks removed words as deleted and keeps them until its segments are merged. On PostgreSQL vacuum
    removes them.
    """
    if not answers_at_once():
        return False
    with writing():
        connection = database.connection()
        changed = connection.total_changes
        database.execute_sql(_MERGE)
        return bool(connection.total_changes - changed >= LEAST_MERGED)


def _blocks_of(
    rows: Sequence[tuple[str, str, str | None]],
) -> Iterator[tuple[SearchBlock, str]]:
    """New blocks with their words. Rows are identifier, account and short content, by identifier."""
    for account_id, group in groupby(sorted(rows, key=lambda row: row[1]), lambda row: row[1]):
        theirs = list(group)
        for start in range(0, len(theirs), BLOCK_SIZE):
            part = theirs[start : start + BLOCK_SIZE]
            block = SearchBlock(id=part[0][0], last_id=part[-1][0], account_id=account_id)
            yield block, _words_of(account_id, ((id_, short) for id_, _, short in part))


def _words_of(account_id: str, rows: Iterable[tuple[str, str | None]]) -> str:
    """The words of a block as its row has them. Rows are identifier and short content."""
    words = {word for row in rows for word in _indexed(words_in(_content(*row)))}
    return " ".join([_token(account_id), *sorted(words)])


def _indexed(words: Iterable[str]) -> Iterator[str]:
    room = MOST_BYTES
    for word in words:
        room -= len(word.encode())
        if room < 0:
            return
        yield word


def _store(
    newest: SearchBlock | None, ids: list[str], blocks: Sequence[tuple[SearchBlock, str]]
) -> bool:
    """Returns whether they are stored: not if another worker was faster, or a message was removed."""
    if SearchBlock.newest() != newest or _COUNT.first(ids) != (len(ids),):
        return False
    for number, (block, words) in enumerate(blocks, newest.number + 1 if newest else 1):
        SearchBlock.create(**block.__data__, number=number)
        _insert_words.execute(number, words)
    return True


@Prepared
def _insert_words(number: Any, words: Any) -> Any:
    if isinstance(database.obj, PostgresqlDatabase):
        words = fn.array_to_tsvector(fn.string_to_array(words, " "))
    return SearchWords.insert(rowid=number, words=words)


_COUNT = Prepared(lambda ids: Message.select(fn.COUNT(Message.id)).where(is_in(Message.id, ids)))


def _newest_first(account_id: Any, below: Any) -> Any:
    query = Message.select(Message.id, CONTENT.short).order_by(Message.id.desc())
    return query.where(Message.account == account_id, Message.id < below)


@Prepared
def _above(account_id: Any, above: Any, below: Any, count: Any) -> Any:
    return _newest_first(account_id, below).where(Message.id > above).limit(count)


@Prepared
def _old(account_id: Any, below: Any, count: Any) -> Any:
    return _newest_first(account_id, below).where(IS_BACKDATED).limit(count)


@Prepared
def _between(account_id: Any, first: Any, last: Any, below: Any) -> Any:
    return _newest_first(account_id, below).where(Message.id.between(first, last))
