"""404 and 405, the latter with the right Allow header, decided by the contract before any routing.

The routers below would name only the methods of the first route that fits a path, and would take
``GET /messages/send`` for a message called "send". The contract says that a concrete path wins. They
also redirect from, or merge, paths that are only similar to the contract's: there is nothing at those.
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
        paths.append(_Path(re.compile("[^/\n]+".join(literal)), frozenset(allowed)))
    return paths


class MethodGuard:
    """Lets a request pass if the contract has its path and method, or leaves its path to others."""

    def __init__(self, app: ASGIApp, contract: dict[str, Any]) -> None:
        self._app = app
        self._paths = _read(contract)
        base = contract["servers"][0]["url"]
        self._base = f"{base}/"
        self._beside = (f"{base}/ui", f"{base}/openapi.")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http":
            self._check(scope["path"], scope["method"])
        await self._app(scope, receive, send)

    def _check(self, path: str, method: str) -> None:
        for known in self._paths:
            if known.pattern.fullmatch(path):
                if method not in known.allowed:
                    raise MethodNotAllowedError(known.allowed)
                return
        is_ours = f"{path}/".startswith(self._base) and not path.startswith(self._beside)
        if is_ours or "//" in path:
            raise HTTPException(404)


class MethodNotAllowedError(HTTPException):
    """405, with the methods that are allowed."""

    def __init__(self, allowed: frozenset[str]) -> None:
        super().__init__(405, headers={"Allow": ", ".join(sorted(allowed))})
