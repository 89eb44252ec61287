"""Requests that clients may repeat with an Idempotency-Key, other than a send (ADR 5).

A key belongs to its operation: the keys of a send, of a webhook and of a template are different ones, even
if they have the same text. What only the database does is claimed and answered in one transaction.
What the network does is claimed before its call, and answered afterwards.
"""

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from models import clock
from models.database import commit, exclusively, writing
from models.errors import ConflictError, FailedError
from models.messages.idempotency import IdempotencyKey
from models.numbers.number import Number
from networks.exceptions import NetworkError
from resources.error import STATUS, error_text
from services.network_failures import Asked, answer_to, may_succeed_later

RETRY_AFTER_RUNNING = 2
REUSED = "This Idempotency-Key was used with another request body. Use a new key."
# No request takes longer, in milliseconds. After this time a claim is that of a process that ended.
LONGEST_MS = 5 * 60_000


@dataclass(frozen=True)
class Answer:
    """The answer to a request: the contract's status and JSON text. The one to a key is stored.

    ``is_replayed``: the request itself was answered before.
    """

    status: int
    body: str
    retry_after: int | None = None
    is_replayed: bool = False


class KeyTakenError(Exception):
    """Another request has claimed the key. Raised to roll back what this request did."""

    def __init__(self, known: IdempotencyKey) -> None:
        super().__init__(known.key)
        self.known = known


def fingerprint_of(request: Any) -> str:
    """The digest of a request, in which the order of properties does not count."""
    return hashlib.sha256(orjson.dumps(request, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True)
class Once:
    """A request of an account with an Idempotency-Key. ``row_key`` begins with its operation."""

    account_id: str
    row_key: str
    fingerprint: str

    @classmethod
    def of(cls, account_id: str, operation: str, key: str, request: Any) -> "Once":
        """``key`` has no blank, so the rows of two operations never collide."""
        return cls(account_id, f"{operation} {key}", fingerprint_of(request))

    def known(self) -> IdempotencyKey | None:
        """The row of an earlier request with the key, or None."""
        return IdempotencyKey.find(self.account_id, self.row_key)

    def claim(self) -> None:
        """Claim the key inside the caller's transaction. Raises KeyTakenError."""
        if known := IdempotencyKey.claim_alone(self.account_id, self.row_key, self.fingerprint):
            raise KeyTakenError(known)

    def answer(self, answer: Answer) -> None:
        """Keep the response, in the caller's transaction."""
        stored = answer.status, answer.body, answer.retry_after
        IdempotencyKey.answer_alone(self.account_id, self.row_key, *stored)

    def replay(self, known: IdempotencyKey, asked: Asked | None = None) -> Answer:
        """The stored response. Raises ConflictError, or FailedError if there will be none."""
        if known.fingerprint != self.fingerprint:
            raise ConflictError(REUSED)
        if known.response_status is None:
            raise _unanswered(known, asked)
        body = known.response_body or ""
        return Answer(known.response_status, body, known.retry_after, is_replayed=True)


def _unanswered(known: IdempotencyKey, asked: Asked | None) -> ConflictError | FailedError:
    """The error while the first request is running, or after its process ended."""
    if asked is None or clock.now() - known.created_at < LONGEST_MS:
        return ConflictError(
            "The first request with this Idempotency-Key has no outcome yet.",
            retry_after=RETRY_AFTER_RUNNING,
        )
    return FailedError(
        f"The first request with this Idempotency-Key was interrupted, {asked.unclear}"
    )


def at_once(once: Once, make: Callable[[], Answer]) -> Answer:
    """Do what ``make`` does in one transaction with the claim and the answer. Replays an earlier answer.

    ``make`` runs inside the transaction. Its errors free the key.
    """

    @exclusively
    def run() -> Answer:
        once.claim()
        answer = make()
        once.answer(answer)
        return answer

    try:
        return run()
    except KeyTakenError as taken:
        return once.replay(taken.known)


@asynccontextmanager
async def claimed(once: Once | None, number: Number, asked: Asked) -> AsyncIterator[None]:
    """Claim the key before the call of the network inside, and record its error. Raises KeyTakenError.

    The caller records the answer of a success.
    """
    if once is None:
        yield
        return
    await commit(exclusively(once.claim))
    try:
        yield
    except NetworkError as error:
        await commit(partial(_record_failure, once, number, asked, error))
        raise


def _record_failure(once: Once, number: Number, asked: Asked, error: NetworkError) -> None:
    with writing():
        if may_succeed_later(number, error):
            IdempotencyKey.release_alone(once.account_id, once.row_key)
            return
        failure = answer_to(number, asked, error)
        text = error_text(failure.code, failure.message, failure.details)
        once.answer(Answer(STATUS[failure.code], text, failure.retry_after))
