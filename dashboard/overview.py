"""/dashboard/: how the account is, at a glance."""

from collections import Counter

from flask import Response

from dashboard.guard import account
from dashboard.limit_use import limit_use
from dashboard.numbers import MEANS
from dashboard.site import blueprint, show
from models import clock
from models.activity import hourly
from models.number import Number
from models.webhook import Webhook

HOURS = 24
# Of the chart's own units.
BAR_HEIGHT = 96


@blueprint.get("/")
def overview() -> Response:
    """Number states, the last day, webhooks in trouble."""
    owner = account().id
    states = Counter(number.status for number in Number.all(owner))
    troubled = [hook for hook in Webhook.all(owner) if not hook.active or hook.failure_count]
    activity = hourly(owner, clock.now(), HOURS)
    highest = max(max(hour.sends, hour.deliveries) for hour in activity)
    return show(
        "overview.html",
        states=[(state, states[state]) for state in MEANS if states[state]],
        troubled=troubled,
        activity=activity,
        plan=account().plan,
        use=limit_use(account()),
        highest=highest,
        bar=lambda count: round(count * BAR_HEIGHT / max(highest, 1)),
    )
