"""Selects the storms: a module for one backend runs only on that backend."""

import os

from contract_tests.backends import BACKEND, POSTGRESQL, REDIS

_ONLY_ON = {"test_lost_commits.py": POSTGRESQL, "test_outage.py": REDIS}
collect_ignore = [
    name
    for name, backend in _ONLY_ON.items()
    if "TEST_BACKEND" in os.environ and backend != BACKEND
]
