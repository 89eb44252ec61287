"""Signups under way: each finished step is on record, so that what failed is resumed and not redone.

The platform's token is stored, sealed, before the next step: its code works once. The code itself is
kept as a hash only. A signup that is complete keeps neither token nor PIN; its number has them.
"""

from enum import StrEnum
from typing import Any, Self

from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock, secret
from models.clock import new_id
from models.database import BaseModel, reading, writing
from models.number import Number
from models.signup_link import SignupLink


class SignupStep(StrEnum):
    """The steps in their order; a signup is at the last one that it finished."""

    EXCHANGED = "exchanged"
    CONFIRMED = "confirmed"
    PROVISIONED = "provisioned"
    SUBSCRIBED = "subscribed"
    REGISTERED = "registered"
    ACTIVATED = "activated"


_ORDER = list(SignupStep)


class Signup(BaseModel):
    """What became of one code of the embedded signup. ``error_code`` tells why the last try stopped."""

    number_id: str | None
    id = TextField(primary_key=True)
    link = ForeignKeyField(SignupLink, lazy_load=False, on_delete="CASCADE", index=False)
    code_hash = TextField()
    phone_number_id = TextField()
    waba_id = TextField()
    phone_number = TextField(default="")
    display_name = TextField(null=True)
    number = ForeignKeyField(Number, null=True, lazy_load=False)
    sealed_token = TextField(null=True)
    sealed_pin = TextField(null=True)
    step = TextField()
    error_code = TextField(null=True)
    created_at = BigIntegerField()
    updated_at = BigIntegerField()

    class Meta:
        indexes = ((("link", "code_hash"), True),)

    @property
    def access_token(self) -> str:
        """The platform's token that the code bought. Empty when the signup is complete."""
        return secret.decrypt(self.sealed_token) if self.sealed_token else ""

    @property
    def pin(self) -> str | None:
        """The two-step PIN that the owner gave, while it is not known whether it fits."""
        return secret.decrypt(self.sealed_pin) if self.sealed_pin else None

    @classmethod
    def find(cls, link: SignupLink, code: str) -> Self | None:
        """The signup that this code began at this link, or None."""
        with reading():
            return cls.get_or_none(cls.link == link.id, cls.code_hash == secret.digest(code))

    @classmethod
    def begin(
        cls, link: SignupLink, code: str, *, phone_number_id: str, waba_id: str, access_token: str
    ) -> Self:
        """Record the exchanged code. It takes over from earlier codes for this link and number."""
        now = clock.now()
        with writing():
            cls.delete().where(
                cls.link == link.id, cls.phone_number_id == phone_number_id
            ).execute()
            return cls.create(
                id=new_id("sgn"),
                link=link.id,
                code_hash=secret.digest(code),
                phone_number_id=phone_number_id,
                waba_id=waba_id,
                sealed_token=secret.encrypt(access_token),
                step=SignupStep.EXCHANGED,
                created_at=now,
                updated_at=now,
            )

    def claim(self, phone_number_id: str, waba_id: str) -> None:
        """The owner claims these now. Another claim than before must be confirmed anew."""
        if (self.phone_number_id, self.waba_id) != (phone_number_id, waba_id):
            ids = {"phone_number_id": phone_number_id, "waba_id": waba_id}
            self.amend(step=SignupStep.EXCHANGED, number=None, sealed_pin=None, **ids)

    def has_finished(self, step: SignupStep) -> bool:
        return _ORDER.index(SignupStep(self.step)) >= _ORDER.index(step)

    def finish(self, step: SignupStep, **values: str | None) -> None:
        """A step is done, and these columns are known by it."""
        self.amend(step=step, error_code=None, **values)

    def keep_pin(self, pin: str) -> None:
        """Keep the PIN that is about to be tried."""
        self.amend(sealed_pin=secret.encrypt(pin))

    def amend(self, **values: Any) -> None:
        super().amend(updated_at=clock.now(), **values)
