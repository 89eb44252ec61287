"""All of /dashboard/: the blueprint with every page module's views on it."""

from flask import Response

from dashboard import (
    broken,
    contact,
    contacts,
    deliveries,
    delivery,
    inbox,
    keys,
    links,
    message_templates,
    messages,
    numbers,
    overview,
    redelivering,
    requests,
    sandbox,
    signing_in,
    verifying,
    webhook_forms,
    webhooks,
)
from dashboard.site import blueprint, go

PAGES = (
    overview,
    numbers,
    message_templates,
    keys,
    links,
    webhooks,
    webhook_forms,
    verifying,
    signing_in,
    messages,
    contacts,
    contact,
    deliveries,
    delivery,
    redelivering,
    requests,
    inbox,
    sandbox,
    broken,
)

__all__ = ["PAGES", "blueprint"]


@blueprint.get("")
def to_home() -> Response:
    """``/dashboard``, as people type it."""
    return go("/dashboard/")
