"""405 with the right Allow header, decided by the contract before any routing.

The routers below would name only the methods of the first route that fits a path, and would take
``GET /messages/send`` for a message called "send". The contract says that a concrete path wins.
"""

import re
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
_TEMPLATE = re.compile(r"\{[^}]+\}")


@dataclass(frozen=True)
class _Path:
    pattern: re.Pattern[str]
    allowed: frozenset[str]


def _read(contract: dict[str, Any]) -> list[_Path]:
    """The contract's paths, those without templates first."""
    base = contract["servers"][0]["url"]
    paths = []
    for template in sorted(contract["paths"], key=lambda t: t.count("{")):
        item = contract["paths"][template]
        allowed = {method.upper() for method in METHODS & item.keys()}
        if "GET" in allowed:
            allowed.add("HEAD")
        literal = (re.escape(part) for part in _TEMPLATE.split(base + template))
        paths.append(_Path(re.compile("[^/]+".join(literal)), frozenset(allowed)))
    return paths


class MethodGuard:
    """Lets a request pass if the contract has its method, or does not know its path at all."""

    def __init__(self, app: ASGIApp, contract: dict[str, Any]) -> None:
        self._app = app
        self._paths = _read(contract)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http":
            for path in self._paths:
                if path.pattern.fullmatch(scope["path"]):
                    if scope["method"] not in path.allowed:
                        raise MethodNotAllowedError(path.allowed)
                    break
        await self._app(scope, receive, send)


class MethodNotAllowedError(HTTPException):
    """405, with the methods that are allowed."""

    def __init__(self, allowed: frozenset[str]) -> None:
        super().__init__(405, headers={"Allow": ", ".join(sorted(allowed))})
