"""Signups under way: what their codes bought, so that a signup that failed needs no new code.

The platform's token is stored, sealed, before it is used: its code works once. The code itself is kept as a
hash only. A signup that is complete is gone; its number has token and PIN.
"""

from typing import Self

from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock, secret
from models.clock import new_id
from models.database import BaseModel, reading, writing
from models.signup_link import SignupLink


class Signup(BaseModel):
    """The token that one code of the embedded signup bought."""

    id = TextField(primary_key=True)
    link = ForeignKeyField(SignupLink, lazy_load=False, on_delete="CASCADE", index=False)
    code_hash = TextField()
    sealed_token = TextField()
    sealed_pin = TextField(null=True)
    created_at = BigIntegerField()

    class Meta:
        indexes = ((("link", "code_hash"), True),)

    @property
    def access_token(self) -> str:
        return secret.decrypt(self.sealed_token)

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
    def begin(cls, link: SignupLink, code: str, access_token: str) -> Self:
        """Record the exchanged code."""
        with writing():
            return cls.create(
                id=new_id("sgn"),
                link=link.id,
                code_hash=secret.digest(code),
                sealed_token=secret.encrypt(access_token),
                created_at=clock.now(),
            )
