"""An uploaded file of recipients, which waits for its broadcast for a day.

Its recipients are rows of BroadcastRecipient, with its identifier as their list. They are removed with it
when it expires, unless a broadcast has them. An upload that did not end expires too.
"""

import json
from typing import Any, Self

from peewee import BigIntegerField, IntegerField, TextField, fn

from models import clock
from models.accounts.account import Owned, no_access
from models.broadcasts.recipient import BroadcastRecipient
from models.clock import DAY_MS
from models.database import reading, writing
from models.decoded import Decoded

LIFETIME_MS = DAY_MS
# An upload that takes longer was interrupted.
MOST_UPLOAD_MS = 60 * 60_000


class RecipientsFile(Owned):
    """One upload. Times are in milliseconds since the epoch.

    The counts and columns are those of services.recipient_rows.Summary. ``stored_at`` is null until all
    recipients are stored, and ``broadcast_id`` until a broadcast uses them.
    """

    account_id: str
    filename = TextField()
    kind = TextField(null=True)
    encoding = TextField(null=True)
    delimiter = TextField(null=True)
    to_column = TextField(null=True)
    reference_column = TextField(null=True)
    rows = IntegerField(default=0)
    recipients = IntegerField(default=0)
    duplicates = IntegerField(default=0)
    wrong = IntegerField(default=0)
    errors_json = TextField(default="[]")
    errors: Decoded[list[dict[str, Any]]] = Decoded(json.loads, "errors_json")
    columns_json = TextField(default="[]")
    columns: Decoded[list[dict[str, Any]]] = Decoded(json.loads, "columns_json")
    created_at = BigIntegerField()
    stored_at = BigIntegerField(null=True)
    expires_at = BigIntegerField(index=True)
    broadcast_id = TextField(null=True)

    @classmethod
    def begin(cls, account_id: str, filename: str) -> Self:
        """Begin an upload, in the caller's transaction."""
        now = clock.now()
        return cls.create(
            id=clock.new_id("rf"),
            account=account_id,
            filename=filename,
            created_at=now,
            expires_at=now + MOST_UPLOAD_MS,
        )

    @classmethod
    def usable(cls, file_id: str, account_id: str, field: str | None = None) -> Self:
        """The account's file, stored and not expired. Raises NotFoundError or ForbiddenError.

        ``field`` is the JSON pointer to its identifier in the request.
        """
        row = cls.by_id(file_id)
        is_there = row is not None and row.stored_at is not None and row.expires_at > clock.now()
        if row is None or not is_there or row.account_id != account_id:
            raise no_access("file of recipients", file_id, exists=is_there, field=field)
        return row

    @classmethod
    def count_unused(cls, account_id: str) -> int:
        """How many recipients of the account wait for a broadcast."""
        total = cls.select(fn.SUM(cls.recipients)).where(cls.account == account_id, _IS_UNUSED)
        with reading():
            return int(total.scalar() or 0)

    def use(self, broadcast_id: str) -> bool:
        """Give the recipients to a broadcast, in the caller's transaction. Returns False if they are gone."""
        cls = type(self)
        is_free = cls.stored_at.is_null(is_null=False), cls.broadcast_id.is_null()
        mine = cls.id == self.id, cls.expires_at > clock.now()
        return bool(cls.update(broadcast_id=broadcast_id).where(*mine, *is_free).execute())

    def discard(self, limit: int) -> int:
        """Remove up to ``limit`` recipients, unless a broadcast has them, and the file after the last one.

        Returns how many rows are gone.
        """
        cls = type(self)
        with writing():
            # It locks the row, so that no broadcast gets the recipients meanwhile.
            unused = cls.update(stored_at=None).where(cls.id == self.id, _IS_UNUSED).execute()
            removed = BroadcastRecipient.remove_some(self.id, limit) if unused else 0
            if removed < limit:
                removed += cls.delete().where(cls.id == self.id).execute()
        return int(removed)

    @classmethod
    def remove_expired(cls, now: int, limit: int) -> int:
        """Remove one batch of what expired up to this time. Returns how many rows are gone."""
        with reading():
            expired = cls.select().where(cls.expires_at <= now).order_by(cls.expires_at).first()
        return 0 if expired is None else expired.discard(limit)


_IS_UNUSED = RecipientsFile.broadcast_id.is_null()
