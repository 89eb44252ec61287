"""Who is asking: the API key of a request (specification, Authentication).

The edge authenticates once, because the rate limit needs to know the account too; the contract's
security scheme then only looks at the result.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from connexion.exceptions import Unauthorized
from connexion.lifecycle import ConnexionRequest
from connexion.security import AbstractSecurityHandler
from peewee import DatabaseError
from starlette.concurrency import run_in_threadpool
from starlette.types import Scope

from dashboard.cookies import session_token
from models.account import Account
from models.api_key import ApiKey
from models.user import User
from models.user_session import UserSession
from models.writer import commit

logger = logging.getLogger(__name__)

STATE_KEY = "gateway.account"
SUSPENDED_KEY = "gateway.suspended"
USER_KEY = "gateway.user"
KEY_IN_USE = "gateway.key"
SCHEME = "bearer"
DASHBOARD = "/dashboard/"

_noting: dict[str, asyncio.Task[None]] = {}


def _bearer_token(scope: Scope) -> str | None:
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1:
        return None
    scheme, _, token = given[0].decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == SCHEME else None


def carries_credentials(scope: Scope) -> bool:
    """Whether somebody has to be looked up for a request."""
    return _bearer_token(scope) is not None or _session_token(scope) is not None


def identify(scope: Scope) -> Account | None:
    """The account whose valid key the request carries, kept in the scope for BearerSecurity."""
    token = _bearer_token(scope)
    key, account = (ApiKey.valid(token) if token else None) or (None, None)
    scope[STATE_KEY], scope[KEY_IN_USE] = account, key
    scope[SUSPENDED_KEY] = _is_suspended(token, account)
    return account


def identify_user(scope: Scope) -> User | None:
    """Who looks at the dashboard, signed in, kept in the scope. No other path looks at cookies."""
    token = _session_token(scope)
    session = UserSession.resume(token) if token else None
    user: User | None = session.user if session else None
    scope[USER_KEY] = user
    return user


async def identify_at_once(scope: Scope) -> tuple[Account | None, User | None]:
    """As the two above, where the database answers at once.

    To ask a thread for two rows of a local file costs several times what it takes to read them here.
    """
    account = identify(scope)
    if _session_token(scope) is None:
        return account, None
    return account, await run_in_threadpool(identify_user, scope)


def _is_suspended(token: str | None, account: Account | None) -> bool:
    return token is not None and account is None and ApiKey.is_suspended(token)


def note_use(scope: Scope) -> None:
    """Note now and then when a key was last used. The request does not wait for it."""
    key: ApiKey | None = scope.get(KEY_IN_USE)
    if key is not None and key.is_use_due() and key.id not in _noting:
        task = _noting[key.id] = asyncio.create_task(_note_use(key))
        task.add_done_callback(lambda _: _noting.pop(key.id))


async def _note_use(key: ApiKey) -> None:
    try:
        await commit(key.note_use)
    except (DatabaseError, OSError) as error:
        # The next request notes it.
        logger.warning("the last use of key %s is not noted: %s", key.id, error)


def _session_token(scope: Scope) -> str | None:
    if not scope["path"].startswith(DASHBOARD):
        return None
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie")
    return session_token(cookies.decode("latin-1"))


class BearerSecurity(AbstractSecurityHandler):
    """Connexion's seam for the contract's scheme ``bearerAuth``."""

    def get_fn(
        self, _security_scheme: dict[str, Any], _required_scopes: list[str]
    ) -> Callable[[ConnexionRequest], Awaitable[dict[str, str]]]:
        """The function that Connexion calls for each request of a protected operation."""

        async def verify(request: ConnexionRequest) -> dict[str, str]:
            account: Account | None = request.scope.get(STATE_KEY)
            if account is None:
                raise Unauthorized(why(request.scope))
            return {"sub": account.id}

        return verify


def why(scope: Scope) -> str:
    """What is wrong with the key of a request, or that there is none."""
    if scope.get(SUSPENDED_KEY):
        return "The account is suspended. Ask its operator to resume it."
    if any(name == b"authorization" for name, _ in scope["headers"]):
        return "The API key is invalid or revoked. Send Authorization: Bearer mk_live_...."
    return "An API key is required. Send the header Authorization: Bearer mk_live_...."
