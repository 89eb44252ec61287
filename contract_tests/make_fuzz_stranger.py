"""Also run by ``make fuzz-stranger``: the case of a system without permission to create a network."""

import os
from pathlib import Path

from contract_tests.commands import command_server
from contract_tests.stranger import NOBODY, fuzz
from contract_tests.test_stranger_fuzz import assert_no_fault


def test_without_an_isolated_network_no_request_leaves_the_machine(tmp_path: Path) -> None:
    found = fuzz(
        tmp_path, "--include-path /webhooks --phases fuzzing --max-examples 5 --seed 1", ()
    )
    assert_no_fault(found)
    settings = {"GATEWAY_DATA_DIR": str(tmp_path / "gateway-data")}
    [webhooks] = command_server().run([("webhooks", "list")], os.environ | settings, tmp_path)
    assert webhooks
    assert all(webhook["url"].startswith(NOBODY) for webhook in webhooks)
