"""docs/architecture.md, "One delivery", names exactly the modules that a delivery enters."""

import re
import threading
from pathlib import Path

import pytest

from models.accounts.account import Account
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from tasks.deliver import Engine
from tests import factories
from tests.receiver import Receiver
from tests.structure.traced_send import Trace
from tests.waiting import until
from webhooks.client import WebhookClient
from webhooks.schedule import RetrySchedule

ROOT = Path(__file__).parents[2]
# A newcomer reads all of them, so the numbers may only fall. The second counts models/ and tasks/, with the
# database's modules as one.
MOST, MOST_OF_OURS = 16, 9
DATABASE = "models/database/"
TEST = "tests/structure/test_one_delivery.py"


def _documented() -> list[str]:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = text.partition("## One delivery\n")[2].partition("\n## ")[0]
    return sorted(set(re.findall(r"`((?:\w+/)+\w+\.py)`", section)) - {TEST})


def _deliver(engine: Engine, account: Account, webhook: Webhook) -> None:
    factories.deliveries(account, webhook)
    engine.wake()
    undelivered = Delivery.select().where(Delivery.state != DeliveryState.DELIVERED)
    until(lambda: not undelivered.exists(), "the delivery")


@pytest.mark.sqlite("PostgreSQL's engine has other modules")
def test_a_delivery_enters_the_modules_that_the_documentation_names(
    account: Account, receiver: Receiver
) -> None:
    trace, webhook = Trace(), factories.webhook(account, receiver.url())
    client = WebhookClient(timeout=10, allow_local=True, user_agent="Gateway/1")
    engine = Engine(client, RetrySchedule((30.0,)), 10, 10)
    # Traces threads that start from now on: the engine's. The first delivery fills the caches.
    threading.setprofile(trace)
    engine.start()
    _deliver(engine, account, webhook)
    threading.setprofile(None)
    trace.on = True
    _deliver(engine, account, webhook)
    trace.on = False
    engine.stop()
    assert _documented() == sorted(trace.modules)
    assert len(trace.modules) <= MOST
    rooms = ("models/", "tasks/")
    ours = [path for path in trace.modules if path.startswith(rooms) and DATABASE not in path]
    assert len(ours) + 1 <= MOST_OF_OURS
