"""Fuzzes the running server: every operation, every phase and every check of Schemathesis.

``FUZZ_EXAMPLES`` sets the number of requests that the fuzzing phase sends to each operation, and of the
stateful phase's chains of requests. If it is set (``make fuzz``), the seed is random, unless
``FUZZ_SEED`` sets it, and the coverage phase sends every body of a message. Otherwise both are fixed,
and that phase sends every tenth.
"""

import os
import re
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from schemathesis.checks import CHECKS, load_all_checks

from contract_tests.fuzz_report import PHASES, Report
from contract_tests.fuzz_run import Fuzzer, linked_operations, read_operations
from contract_tests.fuzz_world import STRANGER, prepare
from contract_tests.harness import Gateway, Receiver, running

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "15"))
FIXED_SEED = 20261120
OPERATIONS = read_operations()
UNSEEN = {
    # An unknown parameter in the query would get it. Schemathesis adds none without a known one.
    "GET /suppressions/export": {400},
    # A list rests after each success, and only a success is repeated without a key.
    "POST /numbers/{number_id}/templates/refresh": {401},
}
# Those of contract_tests/fuzz_hooks.py, which only Schemathesis' own process loads.
OWN_CHECKS = {"errors_name_their_status", "webhooks_stay_on_this_machine"}

pytestmark = pytest.mark.timeout(600 + 6 * EXAMPLES)


def choose_seed() -> int:
    """Fixed in the test suite, random in a search for faults."""
    if "FUZZ_SEED" in os.environ:
        return int(os.environ["FUZZ_SEED"])
    return secrets.randbits(32) if "FUZZ_EXAMPLES" in os.environ else FIXED_SEED


def show(request: pytest.FixtureRequest, text: str) -> None:
    """Print despite pytest's capture."""
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        sys.stdout.write(f"\n{text}\n")
        sys.stdout.flush()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A service with few retries."""
    settings = {"GATEWAY_RETRY_SCHEDULE": "0.2,0.2,0.2", "GATEWAY_DELIVERY_TIMEOUT": "1"}
    with running(tmp_path_factory.mktemp("gateway"), **settings) as service:
        yield service


@pytest.fixture(scope="module")
def report(
    request: pytest.FixtureRequest, gateway: Gateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Report]:
    """The result of all passes."""
    folder: Path = tmp_path_factory.mktemp("fuzz")
    receiver, seed = Receiver(), choose_seed()
    show(request, f"Fuzzing: {EXAMPLES} examples for each operation, seed {seed}")
    environment = prepare(gateway, receiver, folder, links=6 + EXAMPLES // 50)
    found = Fuzzer(folder, environment, EXAMPLES, seed).run()
    show(request, "\n".join(found.table(OPERATIONS)))
    yield found
    receiver.close()


def test_no_request_finds_a_fault(report: Report) -> None:
    if report.faults:
        pytest.fail("\n".join(report.faults), pytrace=False)


@pytest.mark.usefixtures("report")
def test_the_service_logs_no_warning_and_no_part_dies(gateway: Gateway) -> None:
    strange = re.compile(r"WARNING|ERROR|CRITICAL|Traceback|start(ing|ed) it again")
    assert not [line for line in gateway.log().splitlines() if strange.search(line)]


def test_every_phase_runs_to_its_end(report: Report) -> None:
    assert set(report.finished) == {"completed"}
    assert {phase: set(report.phases[phase]) - {"skip"} for phase in PHASES} == {
        phase: {"success"} for phase in PHASES
    }


def _has_example(operation: str) -> bool:
    described = OPERATIONS[operation]
    content = described.get("requestBody", {}).get("content", {})
    return bool(described.get("parameters")) or "application/json" in content


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_is_tested_in_every_phase(report: Report, operation: str) -> None:
    checked = report.checked[operation]
    # Examples are those of parameters and JSON bodies.
    without = {"stateful", *([] if _has_example(operation) else ["examples"])}
    assert set(PHASES) - without <= {phase for phase in PHASES if checked[phase]}
    assert checked["fuzzing"] >= EXAMPLES


def test_chains_of_requests_reach_every_operation_that_a_link_leads_to(report: Report) -> None:
    assert report.scenarios["stateful"] >= EXAMPLES
    assert [o for o in linked_operations(OPERATIONS) if not report.checked[o]["stateful"]] == []


def test_every_check_of_schemathesis_is_on(report: Report) -> None:
    load_all_checks()
    known = set(CHECKS.get_all_names()) | {"max_response_time"} | OWN_CHECKS
    assert set(report.checks) == known


def test_the_stranger_requests_the_owners_resources(report: Report) -> None:
    """Otherwise object_level_authorization is on but has nothing to compare."""
    assert report.accounts[STRANGER]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_succeeds_and_refuses_under_fire(report: Report, operation: str) -> None:
    """2xx. If the contract has them, also 400, 401 without a key and 403 for strangers."""
    seen, documented = report.seen(operation), OPERATIONS[operation]["responses"]
    assert any(200 <= status < 300 for status in seen)
    wanted = {status for status in (400, 401, 403) if str(status) in documented}
    assert wanted - UNSEEN.get(operation, set()) <= set(seen)


@pytest.mark.parametrize("path", sorted({o.partition(" ")[2] for o in OPERATIONS}))
def test_every_path_is_tried_with_unsupported_methods(report: Report, path: str) -> None:
    seen = [report.seen(o) for o in OPERATIONS if o.endswith(f" {path}")]
    assert any(statuses[405] for statuses in seen)
