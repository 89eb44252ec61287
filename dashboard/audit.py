"""/dashboard/audit: changes to the account, with user, time and address."""

from flask import Response

from dashboard.guard import OWNERS, account
from dashboard.list_filters import read_filters
from dashboard.site import PER_PAGE, blueprint, offset, show
from models.accounts.audit import OPERATOR, Audit
from models.accounts.user import User
from models.page import Page


@blueprint.page("/audit", OWNERS)
def audit() -> Response:
    """The rows that match the filter, newest first."""
    chosen, times, problems = read_filters({}, "who", "action")
    problem = next(iter(problems.values()), "")
    return show(
        "audit.html",
        422 if problem else 200,
        found=Page[Audit]([], 0, PER_PAGE, 0) if problem else _find(chosen, times),
        chosen=chosen,
        problem=problem,
        people=[*(user.email for user in User.all(account().id)), OPERATOR],
    )


def _find(chosen: dict[str, str], times: dict[str, int | None]) -> Page[Audit]:
    return Audit.search(
        account().id, PER_PAGE, offset(), who=chosen["who"], action=chosen["action"], **times
    )
