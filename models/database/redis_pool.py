"""Connections to Redis, direct or found through Redis Sentinel. No wait for it is without a time-out.

``redis+sentinel://user:password@host:port,host:port/name/number`` names the primary that these Sentinels know
by this name. ``rediss`` stands for TLS. The user and password are those of Redis. The parameters
``sentinel_username`` and ``sentinel_password`` are those of the Sentinels.
"""

import socket
from functools import partialmethod
from typing import Any
from urllib.parse import unquote

from pydantic_core import MultiHostUrl
from redis import Connection, ConnectionPool, Redis, ResponseError, SSLConnection
from redis import ConnectionError as RedisConnectionError
from redis import TimeoutError as RedisTimeoutError
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import (
    Sentinel,
    SentinelConnectionPool,
    SentinelManagedConnection,
    SentinelManagedSSLConnection,
)

from models.database import resolver

SENTINEL_PORT = 26379
# As for PostgreSQL (models/database/session.py): the kernel ends a connection to a lost machine.
KEEPALIVES = {
    socket.TCP_KEEPIDLE: 10,
    socket.TCP_KEEPINTVL: 5,
    socket.TCP_KEEPCNT: 4,
    socket.TCP_USER_TIMEOUT: 30_000,
}


class _Resolved(Connection):
    """Resolves the name of its host within its time-out to connect."""

    def connect_check_health(self, *args: Any, **options: Any) -> None:
        """Like redis-py's, which calls it for each use of an open connection, too."""
        if self.is_connected:
            return
        seconds: Any = self.socket_connect_timeout
        try:
            resolver.check(self.host, seconds)
        except TimeoutError:
            raise RedisTimeoutError(f"no name server gave the address of {self.host}") from None
        except OSError as error:
            raise RedisConnectionError(f"no address of {self.host}: {error}") from None
        super().connect_check_health(*args, **options)


class _ResolvedEncrypted(_Resolved, SSLConnection):
    """The same over TLS."""


_RESOLVED = {Connection: _Resolved, SSLConnection: _ResolvedEncrypted}


class _ManagedConnection(_Resolved, SentinelManagedConnection):
    """Closes itself after a time-out, unlike redis-py's.

    Otherwise it would stay at a former primary, and a late response would answer the next request.
    """

    read_response = partialmethod(SentinelManagedConnection.read_response, disconnect_on_error=True)


class _ManagedEncrypted(_ManagedConnection, SentinelManagedSSLConnection):
    """The same over TLS."""


def open_pool(url: str, seconds: float) -> ConnectionPool:
    """Connections to the Redis behind ``url``. Each step waits for at most ``seconds``."""
    bounds = _bounds(seconds)
    parsed = MultiHostUrl(url)
    if not parsed.scheme.endswith("+sentinel"):
        return _resolving(ConnectionPool.from_url(url, **bounds))
    secret = dict(parsed.query_params())
    is_encrypted = parsed.scheme.startswith("rediss")
    own = {name: secret.get(f"sentinel_{name}") for name in ("username", "password")}
    hosts = parsed.hosts()
    places = [(str(each["host"]).strip("[]"), each["port"] or SENTINEL_PORT) for each in hosts]
    sentinel = Sentinel(  # type: ignore[no-untyped-call]
        places, sentinel_kwargs={**bounds, **own, "ssl": is_encrypted}
    )
    for client in sentinel.sentinels:
        _resolving(client.connection_pool)
    name, _, number = (parsed.path or "").strip("/").partition("/")
    account: dict[str, Any] = {
        key: unquote(str(value)) for key in ("username", "password") if (value := hosts[0][key])
    }
    kind = _ManagedEncrypted if is_encrypted else _ManagedConnection
    options = bounds | account | {"db": int(number or 0), "connection_class": kind}
    return SentinelConnectionPool(  # type: ignore[no-untyped-call]
        unquote(name), sentinel, **options
    )


def _resolving(pool: ConnectionPool) -> ConnectionPool:
    """The pool, whose connections now look up names in time. One to a file has no name."""
    pool.connection_class = _RESOLVED.get(pool.connection_class, pool.connection_class)
    return pool


def is_cluster(url: str, seconds: float) -> bool:
    """Whether it is a Redis Cluster. Raises RedisError if it is unreachable."""
    with Redis.from_pool(open_pool(url, seconds)) as client:
        try:
            return bool(client.info("cluster")["cluster_enabled"])
        except ResponseError:
            # This user may not ask.
            return False


def _bounds(seconds: float) -> dict[str, Any]:
    return {
        "socket_connect_timeout": seconds,
        "socket_timeout": seconds,
        "socket_keepalive": True,
        "socket_keepalive_options": KEEPALIVES,
        # One retry for a closed connection, none after a time-out.
        "retry": Retry(NoBackoff(), 1, (RedisConnectionError,)),
    }
