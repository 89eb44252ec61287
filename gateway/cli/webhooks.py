"""gateway webhooks."""

import click

from gateway.cli.output import json_option, open_state, print_many
from handlers.webhooks import render
from models.webhook import Webhook


@click.group()
def webhooks() -> None:
    """Webhooks of all accounts."""


@webhooks.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List webhooks, secrets masked."""
    open_state()
    rows = [render(w) | {"accountId": w.account_id} for w in Webhook.all()]
    print_many(rows, ("id", "active", "url"), as_json=as_json)


COMMANDS = (webhooks,)
