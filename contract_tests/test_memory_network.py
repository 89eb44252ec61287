"""``gateway up --network memory``: the API alone, with people inside the process and without a sandbox."""

import re
from pathlib import Path

from contract_tests.harness import Customer, Gateway, wait_for
from contract_tests.processes import children_of


def test_a_trial_without_a_sandbox_sends_and_receives(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path, GATEWAY_PLAN_LIMITS="starter=1000")
    gateway.options = ("--network", "memory")
    gateway.launch_up()
    try:
        wait_for(lambda: "Stop with Ctrl-C." in gateway.log(), "the greeting", 60)
        account, key, number = re.findall(r"(?:Account|API key|Number) +(\S+)", gateway.log())
        assert gateway.process is not None
        up = gateway.process.pid
        # The child that prepared the database may not have ended yet.
        wait_for(lambda: len(children_of(up)) == len(("web", "worker")), "web and worker alone")
        customer = Customer(account, key, gateway.api, {"id": number})
        assert customer.send("15557654321", "Is it you?").status_code == 200
        assert customer.send("15550100001").status_code == 400

        def events() -> list[str]:
            return [each["event"] for each in customer.request("GET", "/events").json()["data"]]

        wait_for(lambda: "message.received" in events(), "the answer")
        assert [kind for kind in events() if kind.startswith("message.")] == [
            "message.sent",
            "message.delivered",
            "message.read",
            "message.received",
        ]
        refused = customer.request("GET", f"/numbers/{number}/profile")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONFLICT")
    finally:
        assert gateway.stop() == 0
