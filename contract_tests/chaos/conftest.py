"""Selects the storms: a module for one backend runs only on that backend."""

import os
import sys
from collections.abc import Callable

import pytest

from contract_tests.backends import BACKEND, POSTGRESQL, REDIS

_ONLY_ON = {"test_lost_commits.py": POSTGRESQL, "test_outage.py": REDIS}
collect_ignore = [
    name
    for name, backend in _ONLY_ON.items()
    if "TEST_BACKEND" in os.environ and backend != BACKEND
]


@pytest.fixture(scope="session")
def say(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Prints a line despite pytest's capture."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled():
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()

    return say
