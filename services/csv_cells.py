"""Writes CSV. A cell that a spreadsheet would read as a formula gets an apostrophe, which marks a text."""

import csv
from collections.abc import Iterable
from io import StringIO

# The first characters of formulas (OWASP, CSV injection).
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(rows: Iterable[Iterable[str]]) -> str:
    """The rows as lines of CSV, with their cells as they are."""
    text = StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def as_text(cell: str) -> str:
    """The cell as a spreadsheet shows it as a text."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell
