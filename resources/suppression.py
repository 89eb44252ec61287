"""The Suppression object of the contract."""

from typing import Any

from models.clock import timestamp
from models.messages.suppression import Suppression


def suppression_object(row: Suppression) -> dict[str, Any]:
    return {
        "id": row.id,
        "person": row.person,
        "numberId": row.number_id or None,
        "reason": row.reason,
        "source": row.source,
        "createdAt": timestamp(row.at),
    }
