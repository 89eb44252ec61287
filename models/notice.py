"""Notices: what the platform tells about an account or a number that changes neither.

Violations, restrictions, announced bans, quality, display names, alerts, reviews, security, templates:
for the operator to read (``gateway numbers notices``).
"""

import json
from typing import Any, Self

from peewee import BigIntegerField, ForeignKeyField, TextField, fn

from models import clock, secret
from models.clock import new_id
from models.database import BaseModel, reading, writing
from models.number import Number

# Where the platform's word for what happened stands: first come. Source: Cloud API, webhooks.
_WORDS = ("event", "decision", "new_quality_score", "new_category", "alert_type")
# An object that has the word, or the rest of it.
_INNER_WORDS = (
    ("ban_info", "waba_ban_state"),
    ("alert_info", "alert_type"),
    ("violation_info", "violation_type"),
    ("disconnection_info", "reason"),
)
UNNAMED = "UNNAMED"


class Notice(BaseModel):
    """One notice. ``field`` is its subject, ``event`` the platform's word for what happened."""

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
        """All that the platform said."""
        return dict(json.loads(self.value_json))

    @classmethod
    def keep(
        cls, waba_id: str, field: str, phone_number: str | None, value: dict[str, Any], at: int
    ) -> Self | None:
        """Keep a notice once: the platform repeats its callbacks. Joins a transaction of the caller.

        ``at`` is the platform's own time, in milliseconds; 0 when it tells none. Returns None for a notice
        that is there already.
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
        """What the business account was last accused of, in the platform's words, None for nothing."""
        query = cls.select().where(
            cls.waba_id == waba_id, cls.event.startswith("ACCOUNT_VIOLATION")
        )
        with reading():
            last = query.order_by(cls.id.desc()).first()
        return None if last is None else str(last.event)

    @classmethod
    def newest(cls, limit: int, number: Number | None = None) -> list[Self]:
        """The newest first: all, or those of a number and of its account as a whole."""
        query = cls.select().order_by(cls.id.desc()).limit(limit)
        if number is not None:
            of_account = (cls.waba_id == number.waba_id) & cls.number.is_null()
            query = query.where((cls.number == number.id) | of_account)
        with reading():
            return list(query)


def words_of(value: dict[str, Any]) -> str:
    """What happened, in the platform's words, such as ``DISABLED_UPDATE SCHEDULE_FOR_DISABLE``."""
    words = [value[name] for name in _WORDS if value.get(name)][:1]
    for outer, inner in _INNER_WORDS:
        if isinstance(found := value.get(outer), dict) and found.get(inner):
            words.append(found[inner])
    return " ".join(str(word) for word in words) or UNNAMED
