"""The SDK for TypeScript sends one message for each key, and succeeds if the network accepts."""

import shutil

import pytest

from contract_tests.clients.retry_program import Program
from contract_tests.clients.sdk import installed
from contract_tests.clients.toolbox import PROGRAMS
from contract_tests.relayed.retry_story import Client, RetryStory
from tooling.sdk_typescript import compile_to


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    """The program with the SDK."""
    folder = shutil.copytree(PROGRAMS / "retries", tmp_path_factory.mktemp("retries") / "sdk")
    return Program(installed(compile_to(folder / "client"), folder), ("node", "sdk.mjs"))


class TestSdkTypescript(RetryStory):
    """The story of the SDK."""
