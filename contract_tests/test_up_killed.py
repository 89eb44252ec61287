"""``gateway up`` is killed and started again at once, again and again, while messages are sent.

``UP_KILLS`` sets how often (large in ``make kills``), and ``UP_KILLS_SEED`` repeats the pauses.
"""

import fcntl
import os
import random
import re
import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract_tests.chaos.ledger import Ledger
from contract_tests.chaos.receivers import MESSAGE_KINDS
from contract_tests.chaos.senders import Senders
from contract_tests.harness import Customer, Gateway, Receiver, running, wait_for
from contract_tests.processes import is_alive

KILLS = int(os.environ.get("UP_KILLS", "2"))
SEED = int(os.environ.get("UP_KILLS_SEED", secrets.randbits(32)))
MESSAGES_PER_KILL = 40 if "UP_KILLS" in os.environ else 10
PARTS = ("web", "worker", "sandbox")
# The longest time in seconds that a start may take to answer on a busy machine.
READY_SECONDS = 60
# An error in the log, with the lines before it.
ERROR = re.compile(r"(?:.*\n){0,20}.*Error: .*")

pytestmark = pytest.mark.timeout(120 + READY_SECONDS * KILLS)


@dataclass(frozen=True)
class Killed:
    """A service that was killed ``KILLS`` times, and its clients."""

    gateway: Gateway
    senders: Senders
    ledger: Ledger
    # The parts of each kill that still ran when the next service was ready.
    left: list[list[int]]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killed]:
    """The state after all kills, when nothing is pending."""
    dice, receiver, left = random.Random(SEED), Receiver(), list[list[int]]()  # noqa: S311 - no secret
    settings = {"GATEWAY_RETRY_SCHEDULE": ",".join(["0.3"] * 40)}
    with running(tmp_path_factory.mktemp("killed"), **settings) as gateway:
        customer = gateway.customer()
        _subscribe(customer, receiver)
        senders = Senders(customer, SEED, KILLS * MESSAGES_PER_KILL)
        with senders.running():
            for _ in range(KILLS):
                senders.progress.allow_more(MESSAGES_PER_KILL)
                senders.progress.reach(senders.progress.started + dice.randrange(MESSAGES_PER_KILL))
                left.append(_kill_and_start(gateway))
            senders.progress.allow_more(senders.progress.total)
        ledger = Ledger(gateway, customer)
        ledger.settle(seconds=120)
        yield Killed(gateway, senders, ledger, left)
    receiver.close()


def _subscribe(customer: Customer, receiver: Receiver) -> None:
    body = {"url": receiver.url(), "events": [*MESSAGE_KINDS]}
    assert customer.request("POST", "/webhooks", json=body).status_code == 201


def _kill_and_start(gateway: Gateway) -> list[int]:
    """Kill ``up`` alone, and start it again while its parts still run. Returns those that run afterwards."""
    up = gateway.process
    assert up is not None
    parts = [*map(gateway.part, PARTS)]
    up.kill()
    up.wait()
    gateway.start()
    return [pid for pid in parts if is_alive(pid)]


def test_each_kill_is_followed_by_a_start_and_leaves_no_process(killed: Killed) -> None:
    assert killed.left == [[]] * KILLS
    errors = ERROR.findall(killed.gateway.log())
    assert not errors, "\n".join(errors)


def test_no_message_is_lost_or_sent_twice(killed: Killed) -> None:
    accepted = Counter(message["to"] for message in killed.ledger.accepted())
    assert set(accepted.values()) == {1}
    assert len(killed.senders.answers) == killed.senders.progress.total
    status = {m["id"]: m["status"] for m in killed.ledger.messages()}
    assert {status[message_id] for message_id in killed.senders.ids.values()} == {"read"}
    assert set(killed.ledger.delivery_states()) == {"delivered"}


def test_a_sandbox_whose_journal_is_locked_is_tried_again_and_the_others_run(
    tmp_path: Path,
) -> None:
    """It was never started again before all parts had started once."""
    gateway = Gateway(tmp_path)
    folder = tmp_path / "var"
    folder.mkdir(0o700)
    with (folder / "sandbox.lock").open("w") as lock:
        lock.write(str(os.getpid()))
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)

        def is_named() -> bool:
            return f"another sandbox, process {os.getpid()}, is using" in gateway.log()

        gateway.launch_up()
        wait_for(is_named, "the reason")
    try:
        wait_for(gateway.is_ready, "a sandbox that was tried again")
        assert "sandbox ended (2)" in gateway.log()
    finally:
        assert gateway.stop() == 0
