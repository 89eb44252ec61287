"""All of /dashboard/: the blueprint with every page module's views on it."""

from flask import Response

from dashboard import (
    audit,
    broken,
    comparing,
    composing,
    contact,
    contacts,
    deliveries,
    delivery,
    forbidden,
    inbox,
    joining,
    keys,
    links,
    live,
    message_templates,
    messages,
    notifications,
    numbers,
    overview,
    redelivering,
    requests,
    sandbox,
    search,
    signing_in,
    two_factor,
    users,
    verifying,
    webhook_forms,
    webhooks,
    you,
)
from dashboard.site import blueprint, go

PAGES = (
    overview,
    numbers,
    message_templates,
    keys,
    links,
    live,
    webhooks,
    webhook_forms,
    verifying,
    composing,
    signing_in,
    messages,
    contacts,
    contact,
    deliveries,
    delivery,
    comparing,
    redelivering,
    notifications,
    search,
    requests,
    inbox,
    sandbox,
    broken,
    forbidden,
    users,
    audit,
    joining,
    you,
    two_factor,
)

__all__ = ["PAGES", "blueprint"]


@blueprint.get("")
def to_home() -> Response:
    """``/dashboard``, as people type it."""
    return go("/dashboard/")
