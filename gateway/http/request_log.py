"""The API request log of the dashboard, written in the background.

Entries wait in memory for a second and are written together. A request never waits: while the database is
slow, entries are dropped and counted. A crash loses the entries of the last second.
"""

import asyncio
import logging
import re
from collections import Counter as Tally
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import orjson
from peewee import DatabaseError
from starlette.types import Scope

from gateway.api.operations import KEY, Operation
from gateway.http.access_log import Response
from gateway.http.auth import CALLER, NOBODY, Caller
from gateway.ops.metrics import REQUEST_LOG_DROPPED
from models import clock
from models.accounts.api_request import ERROR, ApiRequest
from models.database import commit
from resources.error import CODES

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
# Entries of one transaction. It takes some milliseconds, which block sends on SQLite.
BATCH = 200
# The most waiting entries, of some hundred bytes each.
MOST_WAITING = 5_000
# Rate-limited requests are cheap for the caller and must not fill the disk.
MOST_THROTTLED = 10
MAX_PATH, MAX_NAME, MAX_PARAMETERS, MAX_MESSAGE = 200, 50, 20, 1_000
THROTTLED = 429
# Query parameters whose values hold no personal text.
PLAIN = frozenset(
    [
        "after",
        "category",
        "contactId",
        "direction",
        "event",
        "id",
        "language",
        "limit",
        "numberId",
        "offset",
        "since",
        "state",
        "status",
        "type",
        "until",
        "waMessageId",
    ]
)
_PLAIN_VALUE = re.compile(r"[\w.:+=-]{1,128}", re.ASCII)
HIDDEN = "..."
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
# A validator repeats the request's value first, and then names the contract's rule.
_VALUE = re.compile(
    r'["\[{].*( (?:is (?:not|longer|shorter|less|greater)|does not match|has (?:more|less|non)))',
    re.DOTALL,
)


class RequestLog:
    """Gathers the requests of this process for the accounts' logs."""

    def __init__(self, *, is_on: bool) -> None:
        self._is_on = is_on
        self._waiting: list[dict[str, Any]] = []
        self._throttled: Tally[str] = Tally()
        self._writing: asyncio.Task[None] | None = None
        self._is_ending = asyncio.Event()

    def note(self, scope: Scope, response: Response, seconds: float) -> None:
        """Add a finished request, if it has a valid key and an operation."""
        caller: Caller = scope.get(CALLER, NOBODY)
        operation: Operation = scope[KEY]
        if not (self._is_on and operation.name and caller.account and caller.key):
            return
        if response.status is None or self._is_too_much(caller.account.id, response.status):
            return
        self._waiting.append(
            {
                "account": caller.account.id,
                "key_id": caller.key.id,
                "created_at": clock.now() - round(seconds * 1000),
                "operation": operation.name,
                "method": scope["method"],
                # A slug is a credential.
                "path": operation.route if "{slug}" in operation.route else scope["path"],
                "query": scope["query_string"],
                "status": response.status,
                "duration_ms": round(seconds * 1000),
                "request_id": response.request_id,
                "error_json": response.error,
            }
        )
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_soon())

    def _is_too_much(self, account_id: str, status: int) -> bool:
        self._throttled[account_id] += status == THROTTLED
        is_too_much = len(self._waiting) >= MOST_WAITING or (
            status == THROTTLED and self._throttled[account_id] > MOST_THROTTLED
        )
        if is_too_much:
            REQUEST_LOG_DROPPED.inc()
        return is_too_much

    async def finish(self) -> None:
        """Flush the waiting entries before the process ends."""
        self._is_ending.set()
        if self._writing is not None:
            await self._writing

    async def _write_soon(self) -> None:
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_ending.wait(), PAUSE_SECONDS)
            await self._write()
        finally:
            self._writing = None

    async def _write(self) -> None:
        self._throttled.clear()
        while self._waiting:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            try:
                await commit(partial(ApiRequest.record, [_as_kept(entry) for entry in batch]))
            except (DatabaseError, OSError) as error:
                REQUEST_LOG_DROPPED.inc(len(batch))
                logger.warning("%d requests were not written to the log: %s", len(batch), error)


def _as_kept(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without possible personal text."""
    return entry | {
        "path": quote(entry["path"], safe="/:@+,{}", errors="replace")[:MAX_PATH],
        "query": plain_query(entry["query"]),
        "error_json": _error(entry["status"], entry["error_json"]),
    }


def plain_query(query: bytes) -> str:
    """A query with possible personal text hidden."""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)[:MAX_PARAMETERS]
    shown = [(name, value if _is_plain(name, value) else HIDDEN) for name, value in pairs]
    return urlencode([(name[:MAX_NAME], value) for name, value in shown], safe=":")


def _is_plain(name: str, value: str) -> bool:
    return name in PLAIN and _PLAIN_VALUE.fullmatch(value) is not None


def _error(status: int, body: bytes) -> str | None:
    """The error of a response. None without one, or for another format."""
    if status < ERROR:
        return None
    try:
        error = orjson.loads(body)["error"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return orjson.dumps({"code": CODES.get(status, ""), "status": status}).decode()
    message, field = str(error["message"]), str(error.get("details", {}).get("field", ""))
    return orjson.dumps(error | {"message": without_values(message, field)}).decode()


def without_values(message: str, field: str) -> str:
    """The message of an error without the request's values, except for names in ``field``."""
    names = {f'"{name}"' for name in field.split("/")}
    place, colon, complaint = message.partition(": ")
    if value := _VALUE.match(complaint):
        return f"{place}{colon}{HIDDEN}{complaint[value.start(1) :]}"[:MAX_MESSAGE]
    shown = _QUOTED.sub(lambda found: found[0] if found[0] in names else f'"{HIDDEN}"', message)
    return shown[:MAX_MESSAGE]
