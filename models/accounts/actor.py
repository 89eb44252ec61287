"""The actor of the running work: who causes its changes, for the audit log (models.accounts.audit).

The edges set it: the API by the key, the dashboard by the session, a command as the operator, ingestion as
the network. Everything else is the service itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum


class ActorKind(StrEnum):
    """The kinds of actors (openapi.yaml, AuditActorKind)."""

    KEY = "key"
    USER = "user"
    OPERATOR = "operator"
    SIGNUP_LINK = "signup_link"  # the owner of a number, who has the link
    NETWORK = "network"
    SERVICE = "service"


@dataclass(frozen=True)
class Actor:
    """``id`` is of the key, user or link. ``name`` is the user's email, or the name of the key or kind.

    ``address`` is the client's. It is empty for what happens on the service's machines.
    """

    kind: ActorKind
    id: str | None = None
    name: str = ""
    address: str = ""


OPERATOR, NETWORK, SERVICE = (
    Actor(kind, name=kind) for kind in (ActorKind.OPERATOR, ActorKind.NETWORK, ActorKind.SERVICE)
)
present_actor: ContextVar[Actor] = ContextVar("actor", default=SERVICE)


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """Set the actor of the work inside."""
    token = present_actor.set(actor)
    try:
        yield
    finally:
        present_actor.reset(token)
