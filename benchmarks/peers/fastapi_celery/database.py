"""The tables, and one engine with a pool of connections to SQLite (WAL, NORMAL)."""

import os
import threading
import time
import uuid
from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint, create_engine, event
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# FastAPI's default number of threads for plain functions.
THREADS = 40

engine = create_engine(
    f"sqlite:///{os.environ['DATABASE']}",
    pool_size=THREADS,
    connect_args={"timeout": 30, "check_same_thread": False},
)
# The same pool. A read transaction that starts to write fails while another one writes.
writing_engine = engine.execution_options(writes=True)
# SQLite makes a second writer sleep for up to 100 ms. A lock in this process avoids that.
one_writer = threading.Lock()


@event.listens_for(engine, "connect")
def _prepare(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


@event.listens_for(engine, "begin")
def _begin(connection: Any) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def new_id(prefix: str) -> str:
    """An identifier."""
    return f"{prefix}_{uuid.uuid4().hex}"


def now() -> int:
    """The time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


class Base(DeclarativeBase):
    """The base class of all tables."""


class ApiKey(Base):
    """The digest of an account's API key."""

    __tablename__ = "api_key"
    digest: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[str]


class Number(Base):
    """A connected number."""

    __tablename__ = "number"
    id: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[str]
    phone_number_id: Mapped[str]
    access_token: Mapped[str]
    status: Mapped[str]


class Webhook(Base):
    """A customer's URL. ``events`` is a comma-separated list of kinds."""

    __tablename__ = "webhook"
    id: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[str] = mapped_column(index=True)
    url: Mapped[str]
    events: Mapped[str]


class Message(Base):
    """A message and its status."""

    __tablename__ = "message"
    id: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[str] = mapped_column(index=True)
    number_id: Mapped[str] = mapped_column(ForeignKey("number.id"))
    to: Mapped[str]
    body: Mapped[str]
    status: Mapped[str]
    wa_message_id: Mapped[str | None] = mapped_column(index=True)
    created_at: Mapped[int]


class IdempotencyKey(Base):
    """The claim of an idempotency key, and its response once there is one."""

    __tablename__ = "idempotency_key"
    __table_args__ = (UniqueConstraint("account_id", "key"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[str]
    key: Mapped[str]
    fingerprint: Mapped[str]
    message_id: Mapped[str] = mapped_column(ForeignKey("message.id"), index=True)
    response: Mapped[str | None]
    created_at: Mapped[int]


class Event(Base):
    """An event, as the bytes to deliver."""

    __tablename__ = "event"
    id: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[str]
    kind: Mapped[str]
    message_id: Mapped[str] = mapped_column(index=True)
    payload: Mapped[str]
    created_at: Mapped[int] = mapped_column(index=True)


class Delivery(Base):
    """The delivery of an event to a webhook."""

    __tablename__ = "delivery"
    id: Mapped[str] = mapped_column(primary_key=True)
    webhook_id: Mapped[str] = mapped_column(ForeignKey("webhook.id"), index=True)
    event_id: Mapped[str] = mapped_column(ForeignKey("event.id"), index=True)
    state: Mapped[str]
    created_at: Mapped[int]
