"""The hosts to which events are sent."""

import re
from urllib.parse import urlsplit

from peewee import BigIntegerField, TextField

from models import clock
from models.database import BaseModel

_LOOPBACK = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?")


def host_of(url: str) -> str:
    """The host in a stored url, which counts as one destination. On loopback each port is one.

    The same host is stored in one spelling (webhooks.ascii_host), except for the case of ASCII letters.
    """
    parts = urlsplit(url)
    address = parts.netloc.lower()
    return address if _LOOPBACK.fullmatch(address) else parts.hostname or ""


class ProvenHost(BaseModel):
    """A host, as host_of() names it, that has responded to an event of any account with 2xx."""

    id = TextField(primary_key=True)
    proven_at = BigIntegerField(index=True)

    @classmethod
    def note(cls, url: str) -> None:
        """Record the response of a url, inside the caller's transaction."""
        cls.create(id=host_of(url), proven_at=clock.now(), once=True)

    @classmethod
    def among(cls, hosts: list[str]) -> set[str]:
        """Which of these hosts are proven, inside the caller's transaction."""
        return {row.id for row in cls.select().where(cls.id.in_(hosts))}
