"""The Template object of the contract."""

from collections.abc import Sequence
from typing import Any

from models.clock import timestamp
from models.messages.template import Template


def template_object(
    template: Template, number_ids: Sequence[str], status: str | None = None
) -> dict[str, Any]:
    """The Template object of a row. ``number_ids`` are the active numbers of its business account.

    ``id`` is the network's. ``status`` replaces the row's own.
    """
    return {
        "id": template.network_id,
        "numberIds": list(number_ids),
        "name": template.name,
        "language": template.language,
        "status": status or template.shown_status,
        "category": template.category,
        "components": template.components,
        "parameterFormat": template.parameter_format,
        "messageSendTtl": template.message_send_ttl_seconds,
        "qualityScore": template.quality_score,
        "rejectedReason": template.rejected_reason,
        "updatedAt": timestamp(template.updated_at),
    }
