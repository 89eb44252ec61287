"""What the engine records of its attempts."""

from dataclasses import replace

import pytest

from models.accounts.account import Account
from models.deliveries.attempt import Attempt
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from tests import factories
from tests.receiver import Receiver, answer
from tests.tasks.engines import make_engine, running
from tests.waiting import until

# More than a column holds on any database.
TOO_LARGE = 2**70


def test_a_bad_outcome_does_not_spoil_the_others_of_its_batch(
    account: Account, caplog: pytest.LogCaptureFixture
) -> None:
    factories.deliveries(account, factories.webhook(account), count=3)
    outcomes = [factories.success(each) for each in factories.claim_due(3, Terms(3, 60_000))]
    outcomes[1] = replace(outcomes[1], duration_ms=TOO_LARGE)
    engine = make_engine()
    for outcome in outcomes:
        engine._outcomes.put_nowait((account.id, outcome))
    engine.start()
    engine.stop()
    states = {row.id: row.state for row in Delivery.select()}
    assert [states[outcome.delivery_id] for outcome in outcomes] == [
        DeliveryState.DELIVERED,
        DeliveryState.PENDING,
        DeliveryState.DELIVERED,
    ]
    assert f"{outcomes[1].delivery_id} was not recorded" in caplog.text
    assert Delivery.get_by_id(outcomes[1].delivery_id).lease_token is not None, "until its end"


@pytest.mark.parametrize(("status", "on_trial"), [(200, False), (302, True), (500, True)])
def test_only_a_2xx_ends_the_trial_of_a_url(
    status: int, *, on_trial: bool, account: Account, receiver: Receiver
) -> None:
    receiver.behave(answer(status))
    webhook = Webhook.register(account.id, receiver.url(), factories.ALL_KINDS, [])
    assert webhook.on_trial
    factories.deliveries(account, webhook)
    with running():
        until(Attempt.select().exists, "a recorded attempt")
    assert Webhook.get_by_id(webhook.id).on_trial is on_trial
