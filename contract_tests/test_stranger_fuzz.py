"""Another company's Schemathesis finds nothing: its defaults, no configuration and no hooks of ours.

``STRANGER_EXAMPLES`` sets how many requests are tried for each operation (``make fuzz-stranger``). Three
seeds are then drawn, unless ``STRANGER_SEEDS`` names some. Without it there is one seed, and no coverage
phase: it takes half a minute, draws nothing at random, and is part of test_fuzz.py.
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
    """One in the test suite, and new ones where somebody goes looking for faults."""
    if "STRANGER_SEEDS" in os.environ:
        return os.environ["STRANGER_SEEDS"].split()
    return [str(secrets.randbits(32)) for _ in range(3)] if EXAMPLES else ["1"]


pytestmark = pytest.mark.timeout(300 + 6 * int(EXAMPLES or 0))


def assert_no_fault(found: Fuzzed) -> None:
    """No check failed, no request was left without an answer, and the limits stopped none."""
    if found.report.faults or found.status != 0:
        pytest.fail("\n".join([*found.report.faults, found.printed]), pytrace=False)
    assert not [operation for operation in read_operations() if found.report.seen(operation)[429]]


@pytest.mark.parametrize("seed", choose_seeds())
def test_a_stranger_s_fuzzing_finds_no_fault(seed: str, tmp_path: Path) -> None:
    options = f"--max-examples {EXAMPLES}" if EXAMPLES else SOME
    found = fuzz(tmp_path, f"{options} --seed {seed}", isolation())
    assert_no_fault(found)
    assert found.report.checked.keys() >= read_operations().keys()
