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
_WORDS = ("event", "decision", "new_quality_score", "new_category")
# An object that has the word, or the rest of it.
_INNER_WORDS = (("ban_info", "waba_ban_state"), ("alert_info", "alert_type"))
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
    ) -> bool:
        """Keep a notice once: the platform repeats its callbacks. Joins a transaction of the caller.

        ``at`` is the platform's own time, in milliseconds; 0 when it tells none. False when it is known.
        """
        value_json = json.dumps(value, sort_keys=True)
        digest = secret.digest(json.dumps([waba_id, phone_number, field, value_json, at]))
        ours = Number.select(fn.MAX(Number.id)).where(
            Number.waba_id == waba_id, Number.phone_number == phone_number
        )
        with writing():
            if cls.select().where(cls.digest == digest).exists():
                return False
            cls.create(
                id=new_id("ntc"),
                digest=digest,
                waba_id=waba_id,
                number=ours.scalar(),
                phone_number=phone_number,
                field=field,
                event=_words(value),
                value_json=value_json,
                at=at or clock.now(),
            )
        return True

    @classmethod
    def newest(cls, limit: int, number: Number | None = None) -> list[Self]:
        """The newest first: all, or those of a number and of its account as a whole."""
        query = cls.select().order_by(cls.id.desc()).limit(limit)
        if number is not None:
            of_account = (cls.waba_id == number.waba_id) & cls.number.is_null()
            query = query.where((cls.number == number.id) | of_account)
        with reading():
            return list(query)


def _words(value: dict[str, Any]) -> str:
    """What happened, in the platform's words, such as ``DISABLED_UPDATE SCHEDULE_FOR_DISABLE``."""
    words = [value[name] for name in _WORDS if value.get(name)][:1]
    for outer, inner in _INNER_WORDS:
        if isinstance(found := value.get(outer), dict) and found.get(inner):
            words.append(found[inner])
    return " ".join(str(word) for word in words) or UNNAMED
