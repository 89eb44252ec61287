"""/dashboard/keys: the account's API keys, and a first message with one."""

import json
import shlex
from datetime import UTC, date, datetime
from typing import Any

from flask import Response, abort, request

from dashboard.guard import ALL, DEVELOPERS, account
from dashboard.site import PER_PAGE, FormError, blueprint, confirm, go, mine, offset, show
from gateway.settings import get_settings
from models import clock
from models.accounts.account import ApiKey
from models.accounts.scope import Scope
from models.numbers.number import Number, NumberStatus
from services import accounts

PATH = "/dashboard/keys"
MAX_NAME = 100
# The shell variable for the reader's API key, because only a hash of it is stored.
KEY_VARIABLE = "$GATEWAY_KEY"
# A fictitious number. The sandbox accepts it, and the platform refuses it without harm.
RECIPIENT = "15551234567"


@blueprint.page("/keys", ALL)
def keys() -> Response:
    """All keys, without their secrets."""
    found = ApiKey.page(account().id, PER_PAGE, offset())
    return show(
        "keys.html",
        found=found,
        max_name=MAX_NAME,
        scopes=[str(scope) for scope in Scope],
        numbers=Number.all(account().id),
        now=clock.now(),
    )


@blueprint.action("/keys", DEVELOPERS, "key.created", needs_proof=True)
def create_key() -> Response:
    """Create a key and show it once, in this response: it is not stored."""
    name = " ".join(request.form.get("name", "").split())
    if not 1 <= len(name) <= MAX_NAME:
        raise FormError(f"A name has 1 to {MAX_NAME} characters.")
    row, key = accounts.create_key(account(), name, **_limits())
    snippet = first_message(row.account_id, key)
    return show("key_created.html", row=row, key=key, snippet=snippet, recipient=RECIPIENT)


def _limits() -> dict[str, Any]:
    """The limits of the new key in the form. Raises FormError."""
    scopes, chosen = request.form.getlist("scopes"), request.form.getlist("numbers")
    if not {*scopes} <= {*Scope}:
        raise FormError("Choose what the key may do from the list.")
    if not {*chosen} <= {number.id for number in Number.all(account().id)}:
        raise FormError("Choose numbers of this account.")
    return {"scopes": scopes, "number_ids": chosen, "expires_at": _expiry()}


def _expiry() -> int | None:
    """The end of the key: the beginning of a day in UTC. None if it does not expire. Raises FormError."""
    if not (given := request.form.get("expires", "").strip()):
        return None
    try:
        day = date.fromisoformat(given)
        at = round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        raise FormError("The last day is not a date such as 2027-01-31.") from None
    if at <= clock.now():
        raise FormError("The key would have expired already. Choose a later day.")
    return at


@blueprint.action("/keys/<key_id>/revoke", DEVELOPERS, "key.revoked", asks=True)
def revoke_key(key_id: str) -> Response:
    """Revoke the key."""
    row = mine(ApiKey.by_id(key_id))
    if question := confirm("revoke-key", row.name, back=PATH):
        return question if row.revoked_at is None else abort(404)
    accounts.revoke_key(row)
    return go(PATH, say="key-revoked")


def first_message(account_id: str, key: str = KEY_VARIABLE) -> str | None:
    """The shell command that sends a first message. None while no number of the account can send."""
    numbers = Number.all(account_id)
    active = [number for number in numbers if number.status == NumberStatus.ACTIVE]
    if not active:
        return None
    body = {
        "number_id": active[0].id,
        "to": RECIPIENT,
        "type": "text",
        "text": {"body": "Hello"},
    }
    return " \\\n  ".join(
        (
            f"curl {shlex.quote(f'{get_settings().public_url}/api/messages/send')}",
            # In double quotes, so that the shell expands a variable.
            f'-H "Authorization: Bearer {key}"',
            '-H "Content-Type: application/json"',
            f"-d {shlex.quote(json.dumps(body))}",
        )
    )
