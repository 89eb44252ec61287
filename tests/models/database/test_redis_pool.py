"""Redis behind Sentinel: queue and rate limits follow the primary. A Redis Cluster is refused."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from huey.storage import BaseStorage
from redis import ConnectionError, Redis, TimeoutError  # noqa: A004 - redis-py's names
from redis.exceptions import ResponseError

from contract_tests.halting import halted
from contract_tests.servers import RedisSentinel, RedisServer
from contract_tests.waiting import free_port, wait_for
from gateway.http.admission import RateLimiter
from gateway.settings import Settings, SettingsError
from gateway.storage import refuse_clusters
from models.database.redis_pool import KEEPALIVES, open_pool
from tasks.queue import open_storage

# Down after 0.5 s, then an election; a busy machine takes longer.
FAILOVER_SECONDS = 20


class Trio:
    """Two Redis and their Sentinel."""

    def __init__(self, stack: ExitStack) -> None:
        self.primary = stack.enter_context(RedisServer())
        replica = RedisServer(replicaof=f"127.0.0.1 {self.primary.port}", repl_diskless_sync="no")
        self.replica = stack.enter_context(replica)
        self.sentinel = stack.enter_context(RedisSentinel(self.primary))
        self.url = self.sentinel.url(3)
        with Redis(port=self.sentinel.port) as client:
            wait_for(lambda: _replicas(client) == 1, "a replica that Sentinel knows")


def _replicas(client: Redis) -> int:
    return sum(each["flags"] == "slave" for each in _pairs(client))


def _pairs(client: Redis) -> list[dict[str, Any]]:
    found: Any = client.sentinel_slaves(RedisSentinel.name)
    return [
        each if isinstance(each["flags"], str) else each | {"flags": ",".join(each["flags"])}
        for each in found
    ]


@pytest.fixture
def trio() -> Iterator[Trio]:
    with ExitStack() as stack:
        yield Trio(stack)


def _count(limiter: RateLimiter) -> int:
    return limiter.count("starter", "somebody").remaining


@pytest.mark.parametrize("fault", ["kill", "halt"])
def test_queue_and_limits_follow_a_failover(trio: Trio, fault: str) -> None:
    storage = open_storage(trio.url)
    limiter = RateLimiter({"starter": 100}, trio.url)
    storage.enqueue(b"one")
    assert storage.dequeue() == b"one"
    assert _count(limiter) == 99
    with _away(trio.primary, fault):
        wait_for(lambda: _is_queued(storage), "a queue on the new primary", FAILOVER_SECONDS)
        assert storage.dequeue() == b"two"
        with Redis(port=trio.replica.port, db=3) as other:
            wait_for(lambda: _count(limiter) and other.dbsize(), "a count on the new primary")


@contextmanager
def _away(server: RedisServer, fault: str) -> Iterator[None]:
    assert server.process is not None
    if fault == "kill":
        server.kill()
        yield
    else:
        with halted(server.process.pid):
            yield


def _is_queued(storage: BaseStorage) -> bool:
    try:
        storage.enqueue(b"two")
    except (ConnectionError, TimeoutError):
        return False
    return True


def test_a_silent_sentinel_is_an_outage(trio: Trio) -> None:
    assert trio.sentinel.process is not None
    storage = open_storage(trio.url)
    with halted(trio.sentinel.process.pid):
        assert not _is_queued(storage)
    wait_for(lambda: _is_queued(storage), "a queue")


@pytest.mark.parametrize("name", ["QUEUE_URL", "RATE_LIMIT_URL"])
def test_a_redis_cluster_is_refused_in_one_sentence(configure: Any, name: str) -> None:
    # The bus of a cluster has another port, by default one that somebody may use.
    with RedisServer(cluster_enabled="yes", cluster_port=str(free_port())) as cluster:
        settings: Settings = configure(**{name: cluster.url(0)})
        with pytest.raises(
            SettingsError, match=f"^GATEWAY_{name} names a Redis Cluster"
        ) as refused:
            refuse_clusters(settings)
    assert "\n" not in str(refused.value)


def test_one_that_may_not_be_asked_and_a_single_redis_are_accepted(configure: Any) -> None:
    with RedisServer() as server:
        refuse_clusters(configure(QUEUE_URL=server.url(0), RATE_LIMIT_URL=server.url(1)))
        with Redis(port=server.port) as client:
            client.acl_setuser(
                "limited", enabled=True, passwords=["+secret"], keys=["*"], commands=["+get"]
            )
        with (
            pytest.raises(ResponseError),
            Redis(port=server.port, username="limited", password="secret") as client,
        ):
            client.info()
        refuse_clusters(configure(QUEUE_URL=f"redis://limited:secret@127.0.0.1:{server.port}/0"))


def test_a_url_names_sentinels_primary_and_account() -> None:
    url = "rediss+sentinel://me:p%40ss@s1:5000,s2,[::1]:7/the%20one/4?sentinel_password=other"
    pool: Any = open_pool(url, 1)
    assert pool.service_name == "the one"
    given = pool.connection_kwargs
    assert (given["username"], given["password"], given["db"]) == ("me", "p@ss", 4)
    clients = [each.connection_pool.connection_kwargs for each in pool.sentinel_manager.sentinels]
    assert [(each["host"], each["port"]) for each in clients] == [
        ("s1", 5000),
        ("s2", 26379),
        ("::1", 7),
    ]
    assert {each["password"] for each in clients} == {"other"}
    assert {each["socket_timeout"] for each in [*clients, given]} == {1}


def test_an_open_connection_needs_no_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with RedisServer() as server:
        client = Redis.from_pool(open_pool(f"redis://localhost:{server.port}", 1))
        client.ping()

        def fail(*_: object, **__: object) -> None:
            raise socket.gaierror

        monkeypatch.setattr(socket, "getaddrinfo", fail)
        assert [client.ping() for _ in range(3)] == [True] * 3
        client.close()


def test_a_connection_ends_with_a_lost_machine() -> None:
    with RedisServer() as server:
        pool = open_pool(f"redis://localhost:{server.port}", 1)
        connection: Any = pool.get_connection()
        line: socket.socket = connection._sock
        assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        found = {name: line.getsockopt(socket.IPPROTO_TCP, name) for name in KEEPALIVES}
        assert found == KEEPALIVES
        pool.disconnect()
