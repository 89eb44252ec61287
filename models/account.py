"""Accounts: who owns numbers, keys and webhooks, and on which plan."""

from collections.abc import Sequence
from typing import Self

from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock
from models.clock import new_id
from models.database import BaseModel, reading, writing
from models.page import Page, fetch_page

PLANS = ("starter", "pro")


class Account(BaseModel):
    """An account. ``plan`` is one of PLANS.

    While it is suspended, its keys and its users' passwords open nothing. What the network reports of its
    numbers is still taken in, and its events are still delivered.
    """

    id = TextField(primary_key=True)
    name = TextField()
    plan = TextField()
    created_at = BigIntegerField()
    suspended_at = BigIntegerField(null=True)
    # What a person may write to opt out of marketing, or in again: lines, in lower case. None without a text.
    stop_text = TextField(default="")
    start_text = TextField(default="")

    @property
    def stop_words(self) -> list[str]:
        return str(self.stop_text).splitlines()

    @property
    def start_words(self) -> list[str]:
        return str(self.start_text).splitlines()

    def heed(self, *, stop: Sequence[str], start: Sequence[str]) -> None:
        """Let people opt out and in by these words, whatever their case."""
        texts = ("\n".join(word.strip().casefold() for word in words) for words in (stop, start))
        self.amend(**dict(zip(("stop_text", "start_text"), texts, strict=True)))

    @classmethod
    def open(cls, name: str, plan: str) -> Self:
        with writing():
            return cls.create(id=new_id("acc"), name=name, plan=plan, created_at=clock.now())

    def suspend(self) -> None:
        """Suspend it, from now on where it was not suspended before."""
        self.amend(suspended_at=self.suspended_at or clock.now())

    def resume(self) -> None:
        self.amend(suspended_at=None)

    @classmethod
    def all(cls) -> list[Self]:
        """Every account, oldest first."""
        with reading():
            return list(cls.select().order_by(cls.id))


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
