"""Attempts: what each request to a receiver was answered. The log behind a delivery."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from peewee import BigIntegerField, BooleanField, ForeignKeyField, IntegerField, TextField

from models.clock import new_id
from models.database import BaseModel, reading
from models.delivery import Delivery

# A delivery that is redelivered again and again has any number of attempts; a response has a bound.
MOST_SHOWN = 100


@dataclass(frozen=True)
class Outcome:
    """What came of one attempt. Times in milliseconds; ``status_code`` is None when no answer came.

    ``proven_url`` is the url of a webhook on trial that answered 2xx.
    """

    delivery_id: str
    lease_token: str
    started_at: int
    duration_ms: int
    success: bool
    status_code: int | None
    error: str | None
    response_body: str | None
    timed_out: bool = False
    proven_url: str | None = None


_KEPT = ("started_at", "duration_ms", "success", "status_code", "error", "response_body")


class Attempt(BaseModel):
    delivery_id: str
    id = TextField(primary_key=True)
    delivery = ForeignKeyField(Delivery, lazy_load=False, on_delete="CASCADE")
    number = IntegerField()
    started_at = BigIntegerField()
    duration_ms = IntegerField()
    success = BooleanField()
    status_code = IntegerField(null=True)
    error = TextField(null=True)
    response_body = TextField(null=True)

    @classmethod
    def append_all(cls, attempts: Iterable[tuple[Outcome, int]]) -> None:
        for outcome, number in attempts:
            cls.create(
                id=new_id("att"),
                delivery=outcome.delivery_id,
                number=number,
                **{name: getattr(outcome, name) for name in _KEPT},
            )

    @classmethod
    def of(cls, delivery: Delivery) -> list[Self]:
        """The last ``MOST_SHOWN`` attempts of a delivery, oldest first."""
        newest_first = cls.select().where(cls.delivery == delivery.id).order_by(cls.id.desc())
        with reading():
            return list(newest_first.limit(MOST_SHOWN))[::-1]
