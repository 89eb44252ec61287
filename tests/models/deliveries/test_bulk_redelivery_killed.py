"""A process that is killed while it schedules a batch of a redelivery."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.settings import get_settings
from models.accounts.account import Account
from models.deliveries import bulk_redelivery
from models.deliveries.attempt import record_outcomes
from models.deliveries.bulk_redelivery import Redelivery
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery, DeliveryState
from tests import factories
from tests.factories import claim_due

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60
# Schedules a batch, and dies during the next one at the given point.
WORKER = """
import os, signal, sys
from models import database
from models.deliveries.delivery import Delivery
from models.deliveries.bulk_redelivery import Redelivery

url, point = sys.argv[1:]
database.connect(url)
[webhook_id] = Redelivery.webhook_ids()
Redelivery.schedule_part(webhook_id, 1_000_000, 1_000)
schedule_anew = Delivery.schedule_anew

def die(*chosen):
    if point != "before":
        schedule_anew(*chosen)
    if point != "after the commit":
        os.kill(os.getpid(), signal.SIGKILL)

Delivery.schedule_anew = die
Redelivery.schedule_part(webhook_id, 1_000_000, 1_000)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _pending() -> int:
    return Delivery.select().where(Delivery.state == DeliveryState.PENDING).count()


@pytest.mark.parametrize(
    ("point", "scheduled"), [("before", 2), ("before the commit", 2), ("after the commit", 4)]
)
def test_a_part_is_scheduled_whole_and_once_whenever_the_kill_comes(
    account: Account,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    scheduled: int,
) -> None:
    monkeypatch.setattr(bulk_redelivery, "BATCH_SIZE", 2)
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook, count=5)
    record_outcomes(map(factories.failure, claim_due(9, Terms(9, 1000))), lambda _: None, 1000)
    states = [DeliveryState.FAILED]
    chosen = Redelivery.request(webhook.id, states=states, since=None, until=None)
    assert len(chosen) == 5

    killed = subprocess.run(
        [sys.executable, "-c", WORKER, get_settings().database_url, point],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert _pending() == scheduled
    later = 0
    while (count := Redelivery.schedule_part(webhook.id, 1_000_000, 1_000)) is not None:
        later += count
    assert (later, _pending()) == (5 - scheduled, 5)
    assert len(claim_due(9, Terms(9, 1000))) == 5
