"""Accounts: the owners of numbers, keys and webhooks. Each has a plan."""

from collections.abc import Iterable
from typing import Self

from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock
from models.database import BaseModel, reading, writing
from models.page import Page, fetch_page

PLANS = ("starter", "pro")
# Each inbound text is compared with the words. A longer text matches none of them.
MAX_WORDS, MAX_WORD = 20, 40


class Account(BaseModel):
    """An account. ``plan`` is one of PLANS.

    While it is suspended, its keys and its users' passwords are refused. Callbacks about its numbers are
    still ingested, and its events are still delivered.
    """

    id = TextField(primary_key=True)
    name = TextField()
    plan = TextField()
    created_at = BigIntegerField()
    suspended_at = BigIntegerField(null=True)
    # The words by which people opt out of marketing, or in again: lines, in lower case. None without words.
    stop_text = TextField(default="")
    start_text = TextField(default="")

    @property
    def stop_words(self) -> list[str]:
        return str(self.stop_text).splitlines()

    @property
    def start_words(self) -> list[str]:
        return str(self.start_text).splitlines()

    def set_opt_words(self, *, stop: Iterable[str], start: Iterable[str]) -> None:
        """Set the words by which people opt out and in, in any case. Raises ValueError like ``as_words``."""
        stop_text, start_text = ("\n".join(as_words(words)) for words in (stop, start))
        self.amend(stop_text=stop_text, start_text=start_text)

    @classmethod
    def open(cls, name: str, plan: str) -> Self:
        with writing():
            return cls.create(id=clock.new_id("acc"), name=name, plan=plan, created_at=clock.now())

    def suspend(self) -> None:
        """Suspend it. A suspended account keeps the time of its suspension."""
        self.amend(suspended_at=self.suspended_at or clock.now())

    def resume(self) -> None:
        self.amend(suspended_at=None)

    @classmethod
    def all(cls) -> list[Self]:
        """Every account, oldest first."""
        with reading():
            return list(cls.select().order_by(cls.id))


def as_words(given: Iterable[str]) -> list[str]:
    """Words to opt out or in as an account keeps them, each once. Raises ValueError with what is wrong."""
    words = list(dict.fromkeys(word.strip().casefold() for word in given))
    if len(words) > MAX_WORDS:
        raise ValueError(f"{len(words)} words are too many. Give at most {MAX_WORDS}.")
    for word in words:
        if not word:
            raise ValueError("A word is blank. Leave it out.")
        if len(word) > MAX_WORD:
            text = f"The word {word[:MAX_WORD]}... has {len(word)} characters."
            raise ValueError(f"{text} Shorten it to {MAX_WORD}.")
        if "," in word or len(word.splitlines()) > 1:
            raise ValueError(f"{word!r} has a comma or a line break. Give one word at a time.")
    return words


class Owned(BaseModel):
    """A row that belongs to an account."""

    account_id: str
    id = TextField(primary_key=True)
    account = ForeignKeyField(Account, lazy_load=False)

    @classmethod
    def all(cls, account_id: str | None = None) -> list[Self]:
        """Every row, or the account's, oldest first."""
        query = cls.select().order_by(cls.id)
        with reading():
            return list(query if account_id is None else query.where(cls.account == account_id))

    @classmethod
    def page(cls, account_id: str, limit: int, offset: int) -> Page[Self]:
        """The account's rows, newest first."""
        query = cls.select().where(cls.account == account_id).order_by(cls.id.desc())
        return fetch_page(query, limit, offset)
