"""Another company's Schemathesis finds nothing: with its defaults, without our configuration and hooks.

``STRANGER_EXAMPLES`` sets the number of requests for each operation (``make fuzz-stranger``). Three
random seeds are used then, unless ``STRANGER_SEEDS`` sets some. Otherwise there is one seed and no coverage
phase: it takes half a minute, is not random, and is part of test_fuzz.py.
"""

import os
import secrets
from pathlib import Path

import pytest

from contract_tests.fuzz_run import read_operations
from contract_tests.stranger import Fuzzed, fuzz, isolation

EXAMPLES = os.environ.get("STRANGER_EXAMPLES")
SOME = "--max-examples 5 --phases examples,fuzzing,stateful"


def choose_seeds() -> list[str]:
    """One in the test suite, random ones in a search for faults."""
    if "STRANGER_SEEDS" in os.environ:
        return os.environ["STRANGER_SEEDS"].split()
    return [str(secrets.randbits(32)) for _ in range(3)] if EXAMPLES else ["1"]


# Under each plan a list rests after its refresh, and a URL that never responded gets few tests a minute.
RESTING = {
    "POST /numbers/{number_id}/templates/refresh",
    "POST /webhooks/{webhook_id}/test",
}
pytestmark = pytest.mark.timeout(300 + 6 * int(EXAMPLES or 0))


def assert_no_fault(found: Fuzzed) -> None:
    """No check failed, every request was answered, and the rate limits refused none."""
    if found.report.faults or found.status != 0:
        pytest.fail("\n".join([*found.report.faults, found.printed]), pytrace=False)
    limited = {operation for operation in read_operations() if found.report.seen(operation)[429]}
    assert limited <= RESTING


@pytest.mark.parametrize("seed", choose_seeds())
def test_a_stranger_s_fuzzing_finds_no_fault(seed: str, tmp_path: Path) -> None:
    options = f"--max-examples {EXAMPLES}" if EXAMPLES else SOME
    found = fuzz(tmp_path, f"{options} --seed {seed}", isolation())
    assert_no_fault(found)
    # The page leaves these out.
    left_out = {"POST /suppressions/import", "POST /broadcasts/files", "POST /broadcasts"}
    wanted = read_operations().keys() - left_out
    assert found.report.checked.keys() >= wanted
