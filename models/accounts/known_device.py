"""The browsers from which a user has signed in, by a random token in a cookie.

A browser has one token for all its users. It is stored as a digest, and needs no signature: one that is not
stored is replaced.
"""

import secrets
from typing import Self

from peewee import TextField

from models import clock
from models.accounts import secret
from models.accounts.user import OfUser, User
from models.database import fetch, writing

LIFETIME_DAYS = 365
# Of one user. The oldest is forgotten: a program that keeps no cookies adds one with each sign-in.
MOST = 50


class KnownDevice(OfUser):
    """A browser of a user."""

    digest = TextField()

    class Meta:
        indexes = ((("digest", "user"), True),)

    @classmethod
    def recognise(cls, user: User, token: str | None) -> tuple[str, bool]:
        """The token for the cookie of a browser, and whether the person is new there.

        A person may be a user of several accounts.
        """
        with writing():
            query = cls.select(cls, User).join(User)
            found: list[Self] = fetch(query.where(cls.digest == secret.digest(token or "")))
            if token is None or not found:
                token = secrets.token_urlsafe(32)
            if user.id not in {row.user_id for row in found}:
                cls.create(id=clock.new_id("dev"), user=user, digest=secret.digest(token))
                newest = cls.select(cls.id).where(cls.user == user.id).order_by(cls.id.desc())
                kept = [row.id for row in newest.limit(MOST)]
                cls.delete().where(cls.user == user.id, cls.id.not_in(kept)).execute()
        return token, user.email not in {row.user.email for row in found}
