"""Accounts: who owns numbers, keys and webhooks, and on which plan."""

from typing import Self

from peewee import BigIntegerField, CharField, TextField

from models import clock
from models.clock import new_id
from models.database import BaseModel, reading, writing

PLANS = ("starter", "pro")


class Account(BaseModel):
    """An account. ``plan`` is one of PLANS.

    While it is suspended, its keys and its users' passwords open nothing. What the network reports of its
    numbers is still taken in, and its events are still delivered.
    """

    id = CharField(primary_key=True)
    name = TextField()
    plan = CharField()
    created_at = BigIntegerField()
    suspended_at = BigIntegerField(null=True)

    @classmethod
    def open(cls, name: str, plan: str) -> Self:
        """Create an account."""
        with writing():
            return cls.create(id=new_id("acc"), name=name, plan=plan, created_at=clock.now())

    @classmethod
    def find(cls, account_id: str) -> Self | None:
        """The account, or None."""
        return cls.by_id(account_id)

    def suspend(self) -> None:
        """Suspend it, from now on where it was not suspended before."""
        self._suspend_since(self.suspended_at or clock.now())

    def resume(self) -> None:
        """Let its keys and users in again."""
        self._suspend_since(None)

    def _suspend_since(self, moment: int | None) -> None:
        with writing():
            Account.update(suspended_at=moment).where(Account.id == self.id).execute()
        self.suspended_at = moment

    @classmethod
    def all(cls) -> list[Self]:
        """Every account, oldest first."""
        with reading():
            return list(cls.select().order_by(cls.id))
