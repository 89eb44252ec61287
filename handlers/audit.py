"""Tag audit of the contract: changes to the account."""

from typing import Any

from handlers.times import parse_time
from models.accounts.account import ApiKey
from models.accounts.actor import ActorKind
from models.accounts.audit import Audit
from models.accounts.user import Role
from models.errors import ForbiddenError
from models.page import fetch_page
from resources.audit import audit_object
from resources.page import page_object

CREATORS = {Role.OWNER.value, ActorKind.OPERATOR.value}
NOT_AN_OWNERS = (
    "This API key cannot read the audit log, because no owner created it. Ask an owner to create a key in the"
    " dashboard, or the operator to run gateway keys create."
)


def list_audit(  # noqa: PLR0913, PLR0917 - the parameters of the contract
    user: str,
    key_id: str,
    limit: int,
    offset: int,
    since: str | None = None,
    until: str | None = None,
    action: str | None = None,
    actor: str | None = None,
    subject: str | None = None,
    after: str | None = None,
) -> dict[str, Any]:
    """GET /audit."""
    key = ApiKey.by_id(key_id)
    if key is None or key.created_by not in CREATORS:
        raise ForbiddenError(NOT_AN_OWNERS)
    rows = Audit.search(
        user,
        since=parse_time("Query parameter since", since, "/since"),
        until=parse_time("Query parameter until", until, "/until"),
        action=action,
        actor=actor,
        subject=subject,
    )
    return page_object(fetch_page(rows, limit, after or offset), audit_object)
