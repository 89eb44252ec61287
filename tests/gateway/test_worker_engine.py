"""The delivery engine of a worker obeys the settings."""

from gateway.settings import get_settings
from gateway.worker import make_engine
from models.accounts.account import Account
from models.database import writing
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.outgoing import MIB
from models.deliveries.webhook import Webhook
from tests import factories
from tests.conftest import Clock, Configure
from tests.receiver import Receiver
from tests.tasks.engines import running
from tests.waiting import until


def test_a_host_gets_no_more_requests_in_a_minute_than_the_plan_allows(
    account: Account, receiver: Receiver, configure: Configure, clock: Clock
) -> None:
    configure(WEBHOOK_REQUEST_LIMITS="pro=4")
    hook = factories.webhook(account, receiver.url())
    factories.deliveries(account, hook, count=5)
    with running(make_engine(get_settings())):
        until(lambda: Webhook.get_by_id(hook.id).waits_until(clock.at) is not None, "a pause")
    assert len(receiver.at()) == 2
    states = [row.state for row in Delivery.select()]
    assert states.count(DeliveryState.PENDING) == 3


def test_a_host_gets_no_more_bytes_in_a_minute_than_the_plan_allows(
    account: Account, receiver: Receiver, configure: Configure, clock: Clock
) -> None:
    configure(WEBHOOK_BYTE_LIMITS="pro=1")
    hook = factories.webhook(account, receiver.url())
    for _ in range(5):
        event = factories.event(account, payload="x" * (MIB // 4))
        with writing():
            Delivery.schedule(event, [hook])
    with running(make_engine(get_settings())):
        until(lambda: Webhook.get_by_id(hook.id).waits_until(clock.at) is not None, "a pause")
    assert len(receiver.at()) == 2
