"""Tag usage of the contract: the number of messages by day and price."""

import csv
from dataclasses import dataclass
from datetime import UTC, date, datetime
from io import StringIO
from typing import Any

from starlette.responses import Response

from handlers.times import parse_date
from models import clock
from models.accounts.account import owned
from models.numbers.number import Number
from models.reports.usage import UsageTotal
from resources.page import page_object
from resources.usage import COLUMNS, usage_object

# The most days in a response. It limits the size of an export.
MOST_DAYS = 366


@dataclass(frozen=True)
class Days:
    """The days from ``since`` to before ``until``."""

    since: date
    until: date

    @property
    def as_text(self) -> dict[str, str]:
        """Both as ISO 8601."""
        return {"since": self.since.isoformat(), "until": self.until.isoformat()}


def list_usage(
    user: str,
    limit: int,
    offset: int,
    number_id: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> dict[str, Any]:
    """GET /usage."""
    days = _days(user, number_id, since, until)
    page = UsageTotal.page(user, limit, offset, number_id=number_id, **days.as_text)
    return days.as_text | page_object(page, usage_object)


def export_usage(
    user: str,
    number_id: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Response:
    """GET /usage.csv."""
    days = _days(user, number_id, since, until)
    totals = UsageTotal.all(user, number_id=number_id, **days.as_text)
    file_name = f"usage_{days.since}_{days.until}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    return Response(_as_csv(totals), headers=headers, media_type="text/csv")


def _as_csv(totals: list[UsageTotal]) -> str:
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for total in totals:
        *values, billable, count = usage_object(total).values()
        writer.writerow((*values, "true" if billable else "false", count))
    return text.getvalue()


def _days(user: str, number_id: str | None, since: str | None, until: str | None) -> Days:
    """The days of a request. Raises DomainError, also for a number of another account."""
    first, end = (
        parse_date("Query parameter since", since),
        parse_date("Query parameter until", until),
    )
    if number_id is not None:
        owned(Number, number_id, user)
    if end is None:
        today = datetime.fromtimestamp(clock.now() / 1000, UTC).date()
        end = date.fromordinal(today.toordinal() + 1)
    if first is None:
        # The first day of datetime is the first of the year 1.
        first = date.fromordinal(max(1, end.toordinal() - 1)).replace(day=1)
    latest = first.toordinal() + MOST_DAYS
    return Days(first, date.fromordinal(min(latest, end.toordinal())))
