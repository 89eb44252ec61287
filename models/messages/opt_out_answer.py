"""Answers to people who opted out by a word, which the worker sends (services.opt_out_answers)."""

from typing import Any

from peewee import BigIntegerField, ForeignKeyField, IntegerField, TextField

from models import clock
from models.accounts.account import Account, Owned
from models.database import exclusively
from models.messages.contact import Contact
from models.work import Work


class OptOutAnswer(Owned, Work):
    """An answer that is not sent yet. The row is deleted once it is sent, or given up."""

    account = ForeignKeyField(Account, lazy_load=False, index=False)
    number_id = TextField()
    contact_id = TextField(index=True)
    created_at = BigIntegerField()
    due_at: Any = BigIntegerField(index=True)
    tries = IntegerField(default=0)
    lease_token = TextField(null=True)

    @classmethod
    def queue(cls, contact: Contact) -> None:
        """Queue the answer to an opt-out, in its transaction."""
        cls.create(
            id=clock.new_id("ooa"),
            account=contact.account_id,
            number_id=contact.number_id,
            contact_id=contact.id,
            created_at=clock.now(),
            due_at=clock.now(),
        )

    @exclusively
    def finish(self) -> None:
        """Delete it: it is sent or given up."""
        OptOutAnswer.delete().where(OptOutAnswer.id == self.id).execute()
