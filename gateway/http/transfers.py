"""Uploads and downloads of media: how many run at once (docs/decisions/0015-media-through-us.md).

Each costs disk space or a thread for as long as the client likes to take. So they are counted, and one
account alone cannot take all the places.
"""

import re
from collections import Counter

from gateway.http.bodies import MEBIBYTE
from models.account import Account

# A document at its largest, and the multipart form around it.
UPLOAD_LIMIT = 100 * MEBIBYTE + 64 * 1024
UPLOAD_SECONDS = 600
RETRY_AFTER = 5
_UPLOAD = re.compile(r"/api/numbers/[^/]+/media")
_DOWNLOAD = re.compile(r"/api/messages/[^/]+/media")


def is_upload(method: str, path: str) -> bool:
    """Whether a request is an upload of media."""
    return method == "POST" and _UPLOAD.fullmatch(path) is not None


def is_transfer(method: str, path: str) -> bool:
    """Whether a request moves media, one way or the other."""
    return is_upload(method, path) or (method == "GET" and _DOWNLOAD.fullmatch(path) is not None)


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
