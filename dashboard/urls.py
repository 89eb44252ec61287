"""The blueprint of /dashboard/ with the views of all page modules."""

from flask import Response

from dashboard import (
    attempt_comparison,
    audit,
    bulk_redelivery,
    composing,
    contact,
    contacts,
    deliveries,
    delivery,
    forbidden,
    inbox,
    keys,
    links,
    live,
    message_templates,
    messages,
    notifications,
    numbers,
    overview,
    requests,
    sandbox,
    search,
    signing_in,
    single_use_links,
    two_factor,
    unavailable,
    users,
    verifying,
    webhook_forms,
    webhooks,
    you,
)
from dashboard.guard import HOME
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
    attempt_comparison,
    bulk_redelivery,
    notifications,
    search,
    requests,
    inbox,
    sandbox,
    unavailable,
    forbidden,
    users,
    audit,
    single_use_links,
    you,
    two_factor,
)

__all__ = ["PAGES", "blueprint"]


@blueprint.get("")
def to_home() -> Response:
    """Redirect from ``/dashboard``."""
    return go(HOME)
