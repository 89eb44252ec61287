"""The Suppression object of the contract."""

from typing import Any

from models.accounts.account import Account
from models.clock import timestamp
from models.messages.suppression import Suppression, scope_of


def suppression_object(row: Suppression, account: Account) -> dict[str, Any]:
    return {
        "id": row.id,
        "person": row.person,
        "numberId": scope_of(account, row.number_id) or None,
        "reason": row.reason,
        "source": row.source,
        "createdAt": timestamp(row.at),
    }
