"""The API request log: an account's requests and their results.

It never stores the body of a request. ``error_json`` is the error of the response. Values of ``query`` that
may hold personal text are hidden (gateway.http.request_log).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from peewee import SQL, BigIntegerField, ForeignKeyField, IntegerField, TextField

from models.accounts.account import Account
from models.clock import new_id
from models.database import BaseModel, Prepared, appending
from models.page import Newest, fetch_newest

ERROR, SERVER_ERROR, END = 400, 500, 600
# As a literal, because SQLite uses a partial index only for a condition it can read.
IS_FAILED = SQL("status >= 400")
# Rows per statement. After each statement the thread competes with the event loop for the interpreter lock.
SIZES = (64, 8, 1)
# The range of status codes of each outcome: the first one, and the first one after the range.
OUTCOMES = {
    "ok": (0, ERROR),
    "failed": (ERROR, END),
    "4xx": (ERROR, SERVER_ERROR),
    "5xx": (SERVER_ERROR, END),
}


class ApiRequest(BaseModel):
    """One request with a valid key to an operation of the contract, which is named by its operationId."""

    account_id: str
    id = TextField(primary_key=True)
    account = ForeignKeyField(Account, lazy_load=False, index=False)
    key_id = TextField()
    created_at = BigIntegerField()
    operation = TextField()
    method = TextField()
    path = TextField()
    query = TextField()
    status = IntegerField()
    duration_ms = IntegerField()
    request_id = TextField()
    error_json = TextField(null=True)

    class Meta:
        indexes = ((("account", "id"), False),)

    @property
    def error(self) -> dict[str, Any] | None:
        """The code, message, status and details of the response."""
        return None if self.error_json is None else dict(json.loads(self.error_json))

    @classmethod
    def record(cls, entries: Sequence[Mapping[str, Any]]) -> None:
        """Write entries, all or none."""
        with appending():
            left = list(entries)
            while left:
                count = next(size for size in SIZES if size <= len(left))
                rows = ((new_id("arq"), *(each[name] for name in _NAMES)) for each in left[:count])
                _insert(count).execute(*chain.from_iterable(rows))
                del left[:count]


ApiRequest.add_index(ApiRequest.account, ApiRequest.id, where=IS_FAILED, name="api_request_failed")


_NAMES = [name for name in ApiRequest._meta.sorted_field_names if name != "id"]  # noqa: SLF001 - documented


@cache
def _insert(_count: int) -> Prepared:
    """Insert ``count`` rows. The values follow each other row by row."""
    names = ("id", *_NAMES)

    def build(*slots: Any) -> Any:
        rows = (slots[at : at + len(names)] for at in range(0, len(slots), len(names)))
        return ApiRequest.insert_many([dict(zip(names, row, strict=True)) for row in rows])

    return Prepared(build)


@dataclass(frozen=True)
class RequestFilter:
    """Filters of the list of requests. None means no filter. ``outcome`` is one of OUTCOMES."""

    outcome: str | None = None
    method: str | None = None
    operation: str | None = None
    key_id: str | None = None

    def newest(self, account_id: str, limit: int, before: str | None) -> Newest[ApiRequest]:
        """The account's requests that match, newest first, from before this identifier."""
        kept: list[Any] = [ApiRequest.account == account_id]
        least, end = OUTCOMES[self.outcome] if self.outcome else (0, END)
        if least >= ERROR:
            kept.append(IS_FAILED)
        wanted = [ApiRequest.status >= least, ApiRequest.status < end] if self.outcome else []
        for column in (ApiRequest.method, ApiRequest.operation, ApiRequest.key_id):
            value = getattr(self, column.name)
            if value is not None:
                wanted.append(column == value)
        return fetch_newest(ApiRequest, kept, wanted, limit, before)
