"""Events: what happened, as the very bytes that every webhook receives."""

from typing import Self

from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock
from models.account import Account
from models.clock import new_id
from models.database import BaseModel, reading


class Event(BaseModel):
    """One event. ``payload`` is the envelope as JSON text; it never changes.

    ``once_key`` is unique where it is set: a message has each event kind at most once.
    """

    account_id: str
    id = TextField(primary_key=True)
    account = ForeignKeyField(Account, lazy_load=False, index=False)
    kind = TextField()
    number_id = TextField()
    subject_id = TextField(index=True)
    payload = TextField()
    once_key = TextField(null=True, unique=True)
    created_at = BigIntegerField()

    @classmethod
    def append(
        cls,
        account_id: str,
        kind: str,
        *,
        number_id: str,
        subject_id: str,
        payload: str,
        once: bool,
    ) -> Self:
        """Write an event inside the caller's transaction.

        When ``once`` and it is there already, that one stays, and this one is nowhere.
        """
        return cls.create(
            once=True,
            id=new_id("evt"),
            account=account_id,
            kind=kind,
            number_id=number_id,
            subject_id=subject_id,
            payload=payload,
            once_key=f"{kind}:{subject_id}" if once else None,
            created_at=clock.now(),
        )

    @classmethod
    def of_subject(cls, account_id: str, subject_id: str) -> list[Self]:
        with reading():
            query = cls.select().where(cls.subject_id == subject_id, cls.account == account_id)
            return list(query.order_by(cls.id))
