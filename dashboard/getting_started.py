"""The first steps of an account, until its first event has arrived."""

from collections.abc import Sequence
from dataclasses import dataclass

from models.accounts.api_key import ApiKey
from models.deliveries.webhook import Webhook
from models.messages.message import Direction
from models.messages.message_filter import MessageFilter
from models.numbers.number import Number
from models.reports.usage import UsageTotal


@dataclass(frozen=True)
class Step:
    """One step, and its page."""

    words: str
    link: str
    is_done: bool


def first_steps(
    account_id: str, webhooks: Sequence[Webhook], numbers: Sequence[Number]
) -> list[Step]:
    """All steps in order. Empty if all are done."""
    is_connected = any(number.activated_at for number in numbers)
    has_key = any(key.revoked_at is None for key in ApiKey.all(account_id))
    is_verified = any(not webhook.on_trial for webhook in webhooks)
    steps = [
        Step("Connect a number", "/dashboard/links", is_connected),
        Step("Create an API key", "/dashboard/keys", has_key),
        Step("Send a first message", "/dashboard/messages", _has_sent(account_id)),
        Step("Create a webhook", "/dashboard/webhooks/new", bool(webhooks)),
        Step("Receive an event and return a 2xx status", "/dashboard/deliveries", is_verified),
    ]
    return [] if all(step.is_done for step in steps) else steps


def _has_sent(account_id: str) -> bool:
    """True if the account ever sent a message. Totals of usage outlive the messages."""
    kept = MessageFilter(direction=Direction.OUTBOUND).page(account_id, 0, 0).total
    return kept > 0 or UsageTotal.has_any(account_id, Direction.OUTBOUND)
