"""Accounts: who owns numbers, keys and webhooks, and on which plan."""

from typing import Self

from peewee import BigIntegerField, CharField, TextField

from models import clock
from models.database import BaseModel, reading, writing
from models.identifier import new_id

PLANS = ("starter", "pro")


class Account(BaseModel):
    """An account. ``plan`` is one of PLANS."""

    id = CharField(primary_key=True)
    name = TextField()
    plan = CharField()
    created_at = BigIntegerField()

    @classmethod
    def open(cls, name: str, plan: str) -> Self:
        """Create an account."""
        with writing():
            return cls.create(id=new_id("acc"), name=name, plan=plan, created_at=clock.now())

    @classmethod
    def find(cls, account_id: str) -> Self | None:
        """The account, or None."""
        return cls.by_id(account_id)

    @classmethod
    def all(cls) -> list[Self]:
        """Every account, oldest first."""
        with reading():
            return list(cls.select().order_by(cls.id))
