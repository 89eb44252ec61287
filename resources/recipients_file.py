"""The RecipientsFile object of the contract."""

from typing import Any

from models.broadcasts.recipients_file import RecipientsFile
from models.clock import timestamp


def recipients_file_object(row: RecipientsFile) -> dict[str, Any]:
    """The RecipientsFile object of a row."""
    return {
        "id": row.id,
        "filename": row.filename,
        "kind": row.kind,
        "encoding": row.encoding,
        "delimiter": row.delimiter,
        "toColumn": row.to_column,
        "referenceColumn": row.reference_column,
        "rows": row.rows,
        "recipients": row.recipients,
        "duplicates": row.duplicates,
        "wrong": row.wrong,
        "errors": row.errors,
        "columns": row.columns,
        "broadcastId": row.broadcast_id,
        "createdAt": timestamp(row.created_at),
        "expiresAt": timestamp(row.expires_at),
    }
