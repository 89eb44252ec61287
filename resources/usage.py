"""The UsageTotal object of the contract."""

from typing import Any

from models.reports.usage import UsageTotal

COLUMNS = ("day", "numberId", "direction", "category", "billable", "count")


def usage_object(total: UsageTotal) -> dict[str, Any]:
    """The UsageTotal object of a row."""
    values = total.day, total.number_id, total.direction, total.category or None, total.billable
    return dict(zip(COLUMNS, (*values, total.total), strict=True))
