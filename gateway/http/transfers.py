"""Uploads and downloads of media: how many run at once (docs/decisions/0015-media-through-us.md).

Each costs disk space or a thread for as long as the client likes to take. So they are counted, and one
account alone cannot take all the places.
"""

from collections import Counter

from models.account import Account

UPLOAD_SECONDS = 600
RETRY_AFTER = 5


class TransferSlots:
    """The places of one process: ``total`` of them, and at most half for one account."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._each = max(1, total // 2)
        self._taken: Counter[str] = Counter()

    def take(self, account: Account) -> bool:
        """Take a place. False when there is none."""
        if self._taken.total() >= self._total or self._taken[account.id] >= self._each:
            return False
        self._taken[account.id] += 1
        return True

    def give_back(self, account: Account) -> None:
        """Let another one have the place."""
        self._taken -= Counter({account.id: 1})
