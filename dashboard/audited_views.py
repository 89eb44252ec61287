"""Writes a row to the audit log for each change through the dashboard.

A refused change has no row: its view returns an error, or calls ``unchanged``. The row of an atomic view is
written in the same transaction. Other views hash passwords or wait for hosts, so they hold no transaction
open: if the process ends right after the change, the row is missing.
"""

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from flask import Response, g

from dashboard.browser import address
from dashboard.permissions import Rule
from models.accounts.audit import Audit
from models.database import writing

CLIENT_ERROR = 400
View = Callable[..., Response]


def recorded(view: View, rule: Rule) -> View:
    """The view, which writes a row for its change."""
    change = rule.change
    if change is None:
        return view

    @functools.wraps(view)
    def run(**named: str) -> Response:
        g.audited, g.is_unchanged = {"subject": next(iter(named.values()), None)}, False
        with writing() if rule.is_atomic else nullcontext():
            response = view(**named)
            if response.status_code < CLIENT_ERROR and not g.is_unchanged:
                Audit.note(g.session.user, change, address(), **g.audited)
        return response

    return run


def about(subject: str | None = None, **detail: Any) -> None:
    """Set the details of the row: the changed resource if it is not in the URL, and values."""
    g.audited |= detail if subject is None else {"subject": subject, **detail}


def unchanged() -> None:
    """Write no row: nothing was changed, although the response is not an error."""
    g.is_unchanged = True
