"""The objects of the audit log."""

from typing import Any

from models.accounts.audit import Audit
from models.clock import timestamp


def audit_object(row: Audit) -> dict[str, Any]:
    """The AuditEntry object."""
    by = row.actor
    return {
        "id": row.id,
        "createdAt": timestamp(row.at),
        "action": row.action,
        "subject": row.subject,
        "actor": {"kind": by.kind, "id": by.id, "name": by.name, "address": by.address or None},
        "before": row.before,
        "after": row.after,
    }
