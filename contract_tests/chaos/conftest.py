"""Which storms there are where one backend was asked for: each module of one backend runs on that alone."""

import os

from contract_tests.backends import BACKEND, POSTGRESQL, REDIS

_ONLY_ON = {"test_lost_commits.py": POSTGRESQL, "test_outage.py": REDIS}
collect_ignore = [
    name
    for name, backend in _ONLY_ON.items()
    if "TEST_BACKEND" in os.environ and backend != BACKEND
]
