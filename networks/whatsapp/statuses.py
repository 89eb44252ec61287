"""Reads the statuses of a callback."""

import re
from typing import Any

from networks.items import Person, Pricing, StatusUpdate
from networks.whatsapp import graph
from networks.whatsapp.messages import RECIPIENT_IDS, person_of

# The statuses of messages. Source: Cloud API.
STATUSES = frozenset({"sent", "delivered", "read", "played", "failed"})
# The values of a pricing. Any other text is ignored.
PRICING_WORD = re.compile(r"\w[\w.-]{0,63}", re.ASCII)


def read(number: str, status: dict[str, Any], contact: dict[str, Any]) -> StatusUpdate | None:
    """A status of a message. None for one that messages cannot have, such as of a payment."""
    if str(status.get("status")) not in STATUSES:
        return None
    reference = status.get("biz_opaque_callback_data")
    errors = graph.parts_of(status, "errors")
    return StatusUpdate(
        phone_number_id=number,
        wa_message_id=str(status["id"]),
        status=str(status.get("status", "")),
        reference=str(reference) if reference else None,
        errors=tuple((str(error.get("code", "unknown")), graph.text_of(error)) for error in errors),
        error_details=tuple(map(graph.details_of, errors)),
        at=graph.milliseconds(status.get("timestamp")),
        # The recipient may be a group.
        person=Person()
        if status.get("recipient_type") == "group"
        else person_of(status, RECIPIENT_IDS, contact),
        pricing=_pricing(graph.part_of(status, "pricing")),
    )


def _pricing(pricing: dict[str, Any]) -> Pricing | None:
    """The pricing of a status. None if it has no valid member."""
    billable = pricing.get("billable")
    model, category, type_ = (
        text if isinstance(text, str) and PRICING_WORD.fullmatch(text) else None
        for text in map(pricing.get, ("pricing_model", "category", "type"))
    )
    read = Pricing(billable if isinstance(billable, bool) else None, model, category, type_)
    return None if read == Pricing(None, None, None, None) else read
