"""Notices: information from the platform about an account or a number that changes neither.

Violations, restrictions, announced bans, quality, display names, alerts, reviews, security, templates:
for the operator to read (``gateway numbers notices``).
"""

import json
from typing import Any, Self

from peewee import BigIntegerField, ForeignKeyField, TextField, fn

from models import clock
from models.accounts import secret
from models.clock import new_id
from models.database import BaseModel, reading, writing
from models.numbers.number import Number

# The fields that may hold the platform's name of the event, in order. Source: Cloud API, webhooks.
_WORDS = ("event", "decision", "new_quality_score", "new_category", "alert_type")
# An object that has the name, or the rest of it.
_INNER_WORDS = (
    ("ban_info", "waba_ban_state"),
    ("alert_info", "alert_type"),
    ("violation_info", "violation_type"),
    ("disconnection_info", "reason"),
)
UNNAMED = "UNNAMED"


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
    value_json = TextField()
    at = BigIntegerField()

    @property
    def value(self) -> dict[str, Any]:
        """The complete value in the callback."""
        return dict(json.loads(self.value_json))

    @classmethod
    def keep(
        cls, waba_id: str, field: str, phone_number: str | None, value: dict[str, Any], at: int
    ) -> Self | None:
        """Store a notice once, because the platform repeats its callbacks. Joins a transaction of the caller.

        ``at`` is the platform's time, in milliseconds, or 0 without one. Returns None for a notice that is
        stored already.
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
                id=new_id("ntc"),
                digest=digest,
                waba_id=waba_id,
                number=ours.scalar(),
                phone_number=phone_number,
                field=field,
                event=words_of(value),
                value_json=value_json,
                at=at or clock.now(),
            )

    @classmethod
    def last_violation(cls, waba_id: str) -> str | None:
        """The last violation of the business account, in the platform's words, or None."""
        query = cls.select().where(
            cls.waba_id == waba_id, cls.event.startswith("ACCOUNT_VIOLATION")
        )
        with reading():
            last = query.order_by(cls.id.desc()).first()
        return None if last is None else str(last.event)

    @classmethod
    def newest(cls, limit: int, number: Number | None = None) -> list[Self]:
        """Newest first: all notices, or those of a number and of its business account."""
        query = cls.select().order_by(cls.id.desc()).limit(limit)
        if number is not None:
            of_account = (cls.waba_id == number.waba_id) & cls.number.is_null()
            query = query.where((cls.number == number.id) | of_account)
        with reading():
            return list(query)


def words_of(value: dict[str, Any]) -> str:
    """The event in the platform's words, such as ``DISABLED_UPDATE SCHEDULE_FOR_DISABLE``."""
    words = [value[name] for name in _WORDS if value.get(name)][:1]
    for outer, inner in _INNER_WORDS:
        if isinstance(found := value.get(outer), dict) and found.get(inner):
            words.append(found[inner])
    return " ".join(str(word) for word in words) or UNNAMED
