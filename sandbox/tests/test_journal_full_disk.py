"""After a full disk, delivered callbacks are not sent again."""

import resource
from typing import Any

from sandbox_harness import Business, Receiver, Sandbox, until


def test_a_callback_delivered_while_the_disk_is_full_is_written_off_later(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    pid = sandbox.pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)

    def fill_the_disk(_: object) -> int:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))
        return 200

    def state() -> dict[str, Any]:
        found: dict[str, Any] = sandbox.control("GET", "state")
        return found

    receiver.answer = fill_the_disk
    body = {"to": business.digits, "from": "16505551234", "text": "Hi"}
    sandbox.control("POST", "inbound", body)
    until(lambda: state()["callbacks"]["delivered"] == 1, "a delivered callback")
    assert state()["owed"]["total"] == 1
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    until(lambda: state()["owed"]["total"] == 0, "nothing owed")
    assert len(receiver.items("messages")) == 1
