"""Notices: information from the platform about an account or a number that changes neither.

Violations, restrictions, announced bans, quality, display names, alerts, reviews, security, templates:
for the operator to read (``gateway numbers notices``).
"""

import json
from typing import Any, Self

from peewee import BigIntegerField, ForeignKeyField, TextField, fn

from models import clock
from models.accounts import secret
from models.database import BaseModel, fetch, writing
from models.decoded import Decoded
from models.numbers.number import Number


class Notice(BaseModel):
    """One notice. ``field`` is its subject, ``event`` the platform's name of the event."""

    number_id: str | None
    id = TextField(primary_key=True)
    digest = TextField(unique=True)
    waba_id = TextField(index=True)
    number = ForeignKeyField(Number, null=True, lazy_load=False)
    phone_number = TextField(null=True)
    field = TextField()
    event = TextField()
    # The complete value in the callback.
    value_json = TextField()
    value = Decoded(json.loads, "value_json")
    at = BigIntegerField()

    @classmethod
    def record(
        cls,
        waba_id: str,
        field: str,
        phone_number: str | None,
        value: dict[str, Any],
        at: int,
        event: str,
    ) -> Self | None:
        """Store a notice once, because the platform repeats its callbacks. Joins a transaction of the caller.

        ``event`` is the platform's name of what happened. ``at`` is the platform's time, in milliseconds, or
        0 without one. Returns None for a notice that is stored already.
        """
        value_json = json.dumps(value, sort_keys=True)
        ours = Number.select(fn.MAX(Number.id)).where(
            Number.waba_id == waba_id, Number.phone_number == phone_number
        )
        digest = secret.digest(json.dumps([waba_id, phone_number, field, value_json, at]))
        with writing():
            if cls.select().where(cls.digest == digest).exists():
                return None
            return cls.create(
                once=True,
                id=clock.new_id("ntc"),
                digest=digest,
                waba_id=waba_id,
                number=ours.scalar(),
                phone_number=phone_number,
                field=field,
                event=event,
                value_json=value_json,
                at=at or clock.now(),
            )

    @classmethod
    def last_event(cls, waba_id: str, beginning: str) -> str | None:
        """The last event of the business account with this beginning, in the platform's words, or None."""
        query = cls.select().where(cls.waba_id == waba_id, cls.event.startswith(beginning))
        last = fetch(query.order_by(cls.id.desc()).limit(1))
        return str(last[0].event) if last else None

    @classmethod
    def newest(cls, limit: int, number: Number | None = None) -> list[Self]:
        """Newest first: all notices, or those of a number and of its business account."""
        query = cls.select().order_by(cls.id.desc()).limit(limit)
        if number is not None:
            of_account = (cls.waba_id == number.waba_id) & cls.number.is_null()
            query = query.where((cls.number == number.id) | of_account)
        return fetch(query)
