"""Tag usage of the contract: the number of messages by day and price."""

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from io import StringIO
from typing import Any

from starlette.responses import Response

from handlers.attachment import attachment
from handlers.in_parts import in_parts
from handlers.times import parse_date
from models import clock
from models.accounts.scope import chosen_number
from models.numbers.number import Number
from models.page import fetch_page
from models.reports.usage import UsageTotal
from resources.page import page_object

# The most days in a response. It limits the size of an export.
MOST_DAYS = 366
COLUMNS = ("day", "numberId", "direction", "category", "billable", "count")


def list_usage(
    user: str,
    limit: int,
    offset: int,
    number_id: str | None = None,
    since: str | None = None,
    until: str | None = None,
    after: str | None = None,
) -> dict[str, Any]:
    """GET /usage."""
    number_id = chosen_number(number_id)
    days = _days(user, number_id, since, until)
    totals, key = UsageTotal.of_days(user, number_id, **days), UsageTotal.key()
    page = fetch_page(totals, limit, after or offset, key=key, is_ascending=True)
    return days | page_object(page, _usage_object)


def export_usage(
    user: str,
    number_id: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Response:
    """GET /usage.csv."""
    number_id = chosen_number(number_id)
    days = _days(user, number_id, since, until)
    totals = UsageTotal.in_parts(UsageTotal.of_days(user, number_id, **days))
    file_name = f"usage_{days['since']}_{days['until']}.csv"
    headers = {"Content-Disposition": attachment(file_name)}
    return in_parts(_as_csv(totals), "text/csv", **headers)


def _usage_object(total: UsageTotal) -> dict[str, Any]:
    """The UsageTotal object of the contract."""
    values = total.day, total.number_id, total.direction, total.category or None, total.billable
    return dict(zip(COLUMNS, (*values, total.total), strict=True))


def _as_csv(totals: Iterable[UsageTotal]) -> Iterator[bytes]:
    """The lines."""
    yield _line(COLUMNS)
    for total in totals:
        *values, billable, count = _usage_object(total).values()
        yield _line((*values, "true" if billable else "false", count))


def _line(values: Iterable[Any]) -> bytes:
    text = StringIO()
    csv.writer(text).writerow(values)
    return text.getvalue().encode()


def _days(user: str, number_id: str | None, since: str | None, until: str | None) -> dict[str, str]:
    """The days of a request, from ``since`` to before ``until``, as ISO 8601.

    Raises DomainError, also for a number of another account.
    """
    first = parse_date("Query parameter since", since)
    end = parse_date("Query parameter until", until)
    if number_id is not None:
        number_id = Number.owned(number_id, user).id
    if end is None:
        today = datetime.fromtimestamp(clock.now() / 1000, UTC).date()
        end = date.fromordinal(today.toordinal() + 1)
    if first is None:
        # The first day of datetime is the first of the year 1.
        first = date.fromordinal(max(1, end.toordinal() - 1)).replace(day=1)
    latest = first.toordinal() + MOST_DAYS
    last = date.fromordinal(min(latest, end.toordinal()))
    return {"since": first.isoformat(), "until": last.isoformat()}
