"""A usual client with go-retryablehttp sends one message for each key, and succeeds if the network accepts.

Not named test_*: it needs Go and a module, so `make clients` names this file.
"""

import pytest

from contract_tests.clients.retry_program import Program
from contract_tests.clients.toolbox import PROGRAMS, run
from contract_tests.relayed.retry_story import Client, RetryStory


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    """The program, compiled."""
    program, source = tmp_path_factory.mktemp("go") / "send", PROGRAMS / "go_retryablehttp"
    for arguments in (["vet"], ["build", "-o", str(program)]):
        done = run("go", *arguments, cwd=source)
        assert done.returncode == 0, done.stdout
    return Program(program.parent, (program,))


class TestGoRetryablehttp(RetryStory):
    """The story of go-retryablehttp."""
