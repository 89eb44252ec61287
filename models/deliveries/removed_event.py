"""Which events were removed, so that a cursor at a removed event is not mistaken for one of another history.

Erased events are listed until retention would remove them. Retention records only the last event that it
removed of each account (models.deliveries.feed).
"""

from collections.abc import Iterable
from typing import Any

from peewee import BigIntegerField, TextField

from models.database import BaseModel


class ErasedEvent(BaseModel):
    """An event about an erased person. Nothing in it names the person."""

    id = TextField(primary_key=True)
    account_id = TextField()
    position = BigIntegerField()

    class Meta:
        indexes = ((("account_id", "position"), False),)

    @classmethod
    def note(cls, events: Iterable[Any]) -> None:
        """List these events, inside the caller's transaction, which removes them."""
        rows = [(event.id, event.account_id, event.position) for event in events]
        if rows:
            fields = [cls.id, cls.account_id, cls.position]
            cls.insert_many(rows, fields=fields).on_conflict_ignore().execute()


class EventFloor(BaseModel):
    """The last event of an account that retention removed, in the order of readers."""

    account_id = TextField(primary_key=True)
    position = BigIntegerField()
    event_id = TextField()

    @classmethod
    def note(cls, events: Iterable[Any]) -> None:
        """Raise the floors to these events, inside the caller's exclusive transaction, which removes them."""
        floors = {row.account_id: (row.position, row.event_id) for row in cls.select()}
        raised: dict[str, tuple[int, str]] = {}
        for event in events:
            place = (event.position, event.id)
            if place > raised.get(event.account_id, floors.get(event.account_id, (-1, ""))):
                raised[event.account_id] = place
        for account_id, (position, event_id) in raised.items():
            cls.delete().where(cls.account_id == account_id).execute()
            cls.create(account_id=account_id, position=position, event_id=event_id)
