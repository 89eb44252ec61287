"""Event streams when the service stops or is killed."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from contract_tests.event_reader import Follower, blocks, opened
from contract_tests.event_steps import deaf, write, writer
from contract_tests.harness import START_SECONDS, wait_for
from contract_tests.parts import Parts, deployed
from contract_tests.servers import PostgresServer, RedisServer


@pytest.fixture
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """Web and sandbox, each in its own process."""
    with deployed(tmp_path_factory.mktemp("parts")) as made:
        yield made


@pytest.fixture
def two_webs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """The same with two web processes behind one address."""
    with PostgresServer() as postgres, RedisServer() as redis:
        settings = {
            "GATEWAY_DATABASE_URL": postgres.database("webs"),
            "GATEWAY_QUEUE_URL": redis.url(0),
            "GATEWAY_RATE_LIMIT_URL": redis.url(0),
            "GATEWAY_WORKERS": "2",
        }
        with deployed(tmp_path_factory.mktemp("webs"), **settings) as made:
            yield made


@pytest.mark.parametrize("deployment", ["parts", "two_webs"])
def test_a_stop_ends_streams_at_once(request: pytest.FixtureRequest, deployment: str) -> None:
    """Including the stream of a client that does not read."""
    service: Parts = request.getfixturevalue(deployment)
    customer = service.customer(with_number=False)
    write(service, customer, 2000)
    with ExitStack() as stack:
        streams = [blocks(stack.enter_context(opened(customer))) for _ in range(6)]
        stack.enter_context(deaf(service, customer))
        assert [next(each)["retry"] for each in streams] == ["1000"] * 6
        # By then the buffers of the client that does not read are full.
        time.sleep(1)
        assert service.process is not None
        began = time.monotonic()
        service.process.terminate()
        assert service.process.wait(START_SECONDS) in {0, -signal.SIGTERM}
        assert time.monotonic() - began < 4
        assert [list(each) for each in streams] == [[]] * 6
    log = service.log()
    assert '"level":"ERROR"' not in log
    assert "Traceback" not in log


def test_a_reader_survives_kills_of_the_service(parts: Parts) -> None:
    customer = parts.customer(with_number=False)
    follower = Follower(customer)
    with writer(parts, customer, "w", 1000, 0.004) as process:
        for _ in range(3):
            follower.stream(200)
            assert parts.process is not None
            parts.process.kill()
            parts.process.wait()
            parts.start_web()
            wait_for(parts.is_ready, "a ready service", START_SECONDS)
        follower.stream(1000 - len(follower.ids))
        assert process.wait(60) == 0
    assert follower.ids == [f"w-{number}" for number in range(1000)]
