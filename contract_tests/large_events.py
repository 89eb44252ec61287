"""A process that stores a large event for each of many webhooks.

Arguments: a URL, the number of accounts, the webhooks of each, and the bytes of an event.
"""

import sys

from gateway.settings import get_settings
from gateway.storage import connect_state
from models.accounts.account import Account
from models.database import writing
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook

KIND = "message.received"


def store(url: str, accounts: int, webhooks: int, size: int) -> None:
    """Store them. The url has answered before."""
    for _ in range(accounts):
        account = Account.open("Large", "pro")
        ours = [Webhook.register(account.id, url, [KIND], []) for _ in range(webhooks)]
        data = {"id": account.id, "text": "x" * size}
        with writing():
            for webhook in ours:
                Webhook.end_trial(webhook.id, url)
            event = Event.append(account.id, KIND, data, number_id="num_1", subject_id=account.id)
            Delivery.schedule(event, ours)


if __name__ == "__main__":
    connect_state(get_settings())
    store(sys.argv[1], *map(int, sys.argv[2:]))
