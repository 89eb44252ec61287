"""``gateway deliveries list``: the newest deliveries of all webhooks, however many webhooks there are."""

import json

import pytest
from click.testing import CliRunner

from gateway.cli import cli, webhooks
from models.accounts.account import Account
from models.deliveries.delivery import Delivery
from tests import factories


@pytest.mark.parametrize("at_once", [1, 10])
def test_the_newest_deliveries_of_all_webhooks_are_listed(
    account: Account, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(webhooks, "MOST_AT_ONCE", at_once)
    monkeypatch.setattr(webhooks, "MAX_LISTED", 3)
    hooks = [factories.webhook(account) for _ in range(2)]
    for hook in (*hooks, *hooks):
        factories.deliveries(account, hook)
    done = CliRunner().invoke(cli, ["deliveries", "list", "--json"])
    newest = Delivery.select().order_by(Delivery.id.desc()).limit(3)
    assert [row["id"] for row in json.loads(done.stdout)] == [row.id for row in newest]
