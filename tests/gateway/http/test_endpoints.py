"""The stream of the page Live, for a user who may not open the page yet."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from gateway.http.admission import CALLER, Caller
from gateway.http.endpoints import live
from models.accounts.account import Account
from models.accounts.user import Role
from models.accounts.user_session import UserSession
from tests.people import member


@pytest.mark.parametrize("role", [Role.OWNER, Role.VIEWER])
def test_the_live_stream_waits_for_a_required_second_factor(account: Account, role: Role) -> None:
    account.amend(two_factor_since=1)
    session = UserSession.resume(UserSession.begin(member(account, role)))
    parts: list[MutableMapping[str, Any]] = []

    async def send(part: MutableMapping[str, Any]) -> None:
        parts.append(part)

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "headers": [], CALLER: Caller(session=session)}
    asyncio.run(live(scope, receive, send))
    assert parts[0]["status"] == 403
