"""gateway keys."""

from typing import Any

import click

from gateway.cli.accounts import find_account, not_blank
from gateway.cli.output import json_option, open_state, print_many, print_one
from models.api_key import ApiKey
from webhooks.envelope import timestamp


def _render(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "accountId": key.account_id,
        "name": key.name,
        "state": "active" if key.revoked_at is None else "revoked",
        "createdAt": timestamp(key.created_at),
        "revokedAt": None if key.revoked_at is None else timestamp(key.revoked_at),
        "lastUsedAt": None if key.last_used_at is None else timestamp(key.last_used_at),
    }


@click.group()
def keys() -> None:
    """API keys of accounts."""


@keys.command()
@click.argument("account_id")
@click.option(
    "--name", default="default", show_default=True, callback=not_blank, help="What the key is for."
)
@json_option
def create(account_id: str, name: str, *, as_json: bool) -> None:
    """Create a key. It is shown this once."""
    open_state()
    row, key = ApiKey.issue(find_account(account_id), name)
    shown = {"id": row.id, "key": key, "name": name, "createdAt": timestamp(row.created_at)}
    print_one(shown, as_json=as_json)


@keys.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List all keys, without the keys themselves."""
    open_state()
    columns = ("id", "accountId", "state", "name")
    print_many([_render(k) for k in ApiKey.all()], columns, as_json=as_json)


@keys.command()
@click.argument("key_id")
@json_option
def revoke(key_id: str, *, as_json: bool) -> None:
    """Make a key void at once."""
    open_state()
    if not ApiKey.revoke(key_id):
        raise click.ClickException(f"There is no key {key_id}. See: gateway keys list")
    print_one({"id": key_id, "revoked": True}, as_json=as_json)


COMMANDS = (keys,)
