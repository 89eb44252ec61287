"""``gateway doctor`` next to the running service: first all is well, then parts break."""

import json
import time
from pathlib import Path
from typing import Any

from redis import Redis

from contract_tests.backends import BACKEND, SQLITE
from contract_tests.commands import command_server
from contract_tests.halting import halted
from contract_tests.harness import Gateway, running, wait_for

# The limit of the whole run in seconds, with any part broken.
LIMIT_SECONDS = 15


def examine(service: Gateway, *, status: int, **settings: str) -> dict[str, Any]:
    """The checks by name, of a command that knows only the service's folder."""
    started = time.monotonic()
    command = ("doctor", "--json")
    ended, printed, said = command_server().invoke(command, service.told | settings, service.folder)
    assert time.monotonic() - started < LIMIT_SECONDS
    assert (ended, said) == (status, ""), printed
    document = json.loads(printed)
    assert document["ok"] is (status == 0)
    return {check["name"]: check for check in document["checks"]}


def nobody_waits_at(queue: str) -> bool:
    """Whether no worker waits at Redis for a task of the queue. Such a wait lasts a second."""
    with Redis.from_url(queue) as redis:
        # In Redis's client flags, b means a blocking wait.
        waiting = {each["db"] for each in redis.client_list() if "b" in each["flags"]}
        return str(redis.get_connection_kwargs()["db"]) not in waiting


def problems(found: dict[str, Any]) -> set[str]:
    """The names of checks that found a problem."""
    return {name for name, check in found.items() if check["state"] == "problem"}


def test_the_running_service_passes_and_each_broken_part_is_named(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        service.customer()
        imperfect = {n for n, c in examine(service, status=0).items() if c["state"] != "ok"}
        # A test's PostgreSQL does not wait for the disk.
        assert imperfect == ({"database"} if BACKEND != SQLITE else set())

        with halted(service.part("worker")):
            if queue := service.environment.get("GATEWAY_QUEUE_URL"):
                # Until then Redis would still give it a task.
                wait_for(lambda: nobody_waits_at(queue), "the end of the worker's wait")
            assert problems(examine(service, status=1)) == {"worker"}
        with halted(service.part("sandbox")):
            assert problems(examine(service, status=1)) == {"network", "app"}
        with halted(service.part("web")):
            assert problems(examine(service, status=1)) == {"callback address"}

        found = examine(service, status=1, GATEWAY_SECRET_KEY="another-key")
        assert problems(found) == {"key"}
        found = examine(service, status=1, GATEWAY_NETWORK_VERIFY_TOKEN="another-token")
        assert problems(found) == {"callback address"}
        assert "another-token" not in json.dumps(found)

        # The halted process continues, and the checks did no harm.
        imperfect = {n for n, c in examine(service, status=0).items() if c["state"] != "ok"}
        # A test's PostgreSQL does not wait for the disk.
        assert imperfect == ({"database"} if BACKEND != SQLITE else set())
    # No other process on this machine is taken for the sandbox.
    stopped = examine(service, status=1, GATEWAY_SANDBOX_PORT=str(service.sandbox_port))
    assert problems(stopped) == {"worker", "network", "callback address"}
