"""/dashboard/keys: the account's API keys."""

from flask import Response, abort, request

from dashboard.audited_views import about, unchanged
from dashboard.first_message import RECIPIENT, first_message
from dashboard.guard import account
from dashboard.paging import PER_PAGE, offset
from dashboard.site import blueprint, confirm, go, mine, show
from models.accounts.api_key import ApiKey

PATH = "/dashboard/keys"
MAX_NAME = 100


@blueprint.get("/keys")
def keys() -> Response:
    """All keys, without their secrets."""
    return _list()


@blueprint.post("/keys")
def create_key() -> Response:
    """Create a key and show it once, in this response: it is not stored."""
    name = " ".join(request.form.get("name", "").split())
    if not 1 <= len(name) <= MAX_NAME:
        return _list(422, problem=f"A name has 1 to {MAX_NAME} characters.", name=name)
    row, key = ApiKey.issue(account(), name)
    about(row.id, name=name)
    snippet = first_message(row.account_id, key)
    return show("key_created.html", row=row, key=key, snippet=snippet, recipient=RECIPIENT)


@blueprint.get("/keys/<key_id>/revoke")
def confirm_revoke_key(key_id: str) -> Response:
    """Ask for confirmation."""
    row: ApiKey = mine(ApiKey.by_id(key_id))
    if row.revoked_at is not None:
        abort(404)
    return confirm(
        title=f"Revoke the key “{row.name}”?",
        text="Requests with this key are refused from now on. This cannot be undone.",
        action="Revoke key",
        back=PATH,
    )


@blueprint.post("/keys/<key_id>/revoke")
def revoke_key(key_id: str) -> Response:
    """Revoke the key."""
    row: ApiKey = mine(ApiKey.by_id(key_id))
    if row.revoked_at is not None:
        unchanged()
    row.revoke()
    return go(PATH, say="key-revoked")


def _list(status: int = 200, *, problem: str = "", name: str = "") -> Response:
    found = ApiKey.page(account().id, PER_PAGE, offset())
    return show("keys.html", status, found=found, problem=problem, name=name, max_name=MAX_NAME)
