"""The objects of the contract about blocked people."""

from typing import Any

from networks.interface import BlockedPage, BlockResult
from networks.registry import explained


def blocked_page_object(page: BlockedPage) -> dict[str, Any]:
    """The BlockedPage object."""
    people = [{"phone": person.phone, "userId": person.user_id} for person in page.people]
    return {"data": people, "after": page.after}


def block_result_object(result: BlockResult) -> dict[str, Any]:
    """The BlockResult object."""
    failed = [
        {"person": person, "error": {"code": code, "message": explained(code, reason)}}
        for person, (code, reason) in result.failed.items()
    ]
    return {"blocked": list(result.done), "failed": failed}
