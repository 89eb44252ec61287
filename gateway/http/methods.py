"""The operation of the contract that a request asks for; else 404, or 405 with the right Allow header.

Connexion's routers would name only the methods of the first route that fits a path, and would take
``GET /messages/send`` for a message called "send". The contract says that a concrete path wins. They
also redirect from, or merge, paths that are only similar to the contract's: there is nothing at those.
So the middleware below finds here what they would have found, in the scope.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from connexion.middleware.abstract import ROUTING_CONTEXT
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.api.contract import base_path

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
_PARAMETER = re.compile(r"\\\{(\w+)\\\}")


@dataclass(frozen=True)
class _Path:
    """``operations`` are the operationIds by method."""

    pattern: re.Pattern[str]
    operations: dict[str, str]


def _read(base: str, paths: dict[str, Any]) -> Iterator[tuple[str, _Path]]:
    """The contract's paths with their templates."""
    for template, item in paths.items():
        operations = {m.upper(): item[m]["operationId"] for m in METHODS & item.keys()}
        if "GET" in operations:
            operations.setdefault("HEAD", operations["GET"])
        pattern = _PARAMETER.sub(r"(?P<\1>[^/\n]+)", re.escape(base + template))
        yield base + template, _Path(re.compile(pattern), operations)


class MethodGuard:
    """Lets a request pass if the contract has its path and method, or leaves its path to others.

    What it found is in the scope, where Connexion's middleware looks for it.
    """

    def __init__(self, app: ASGIApp, contract: dict[str, Any]) -> None:
        self._app = app
        self._base = base_path()
        self._beside = tuple(f"{self._base}/{name}" for name in ("ui", "docs", "openapi."))
        known = dict(_read(self._base, contract["paths"]))
        self._concrete = {path: found for path, found in known.items() if "{" not in path}
        self._templates = [found for path, found in known.items() if "{" in path]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http":
            operation, parameters = self._find(scope["path"], scope["method"])
            routing = {"api_base_path": self._base, "operation_id": operation}
            extensions = {**scope.get("extensions", {}), ROUTING_CONTEXT: routing}
            scope = {**scope, "extensions": extensions, "path_params": parameters}
        await self._app(scope, receive, send)

    def _find(self, path: str, method: str) -> tuple[str | None, dict[str, str]]:
        """The operation, if it is one of the contract's, and the parameters in its path."""
        known, parameters = self._match(path)
        if known is None:
            is_ours = f"{path}/".startswith(f"{self._base}/") and not path.startswith(self._beside)
            if is_ours or "//" in path:
                raise HTTPException(404)
            return None, {}
        if method not in known.operations:
            raise MethodNotAllowedError(known.operations)
        return known.operations[method], parameters

    def _match(self, path: str) -> tuple[_Path | None, dict[str, str]]:
        if known := self._concrete.get(path):
            return known, {}
        for known in self._templates:
            if match := known.pattern.fullmatch(path):
                return known, match.groupdict()
        return None, {}


class MethodNotAllowedError(HTTPException):
    """405, with the methods that are allowed."""

    def __init__(self, allowed: Iterable[str]) -> None:
        super().__init__(405, headers={"Allow": ", ".join(sorted(allowed))})
