"""The SDK for TypeScript against the running service: strictly typed, it does a customer's whole job."""

import json
import re
import subprocess
from pathlib import Path
from urllib.parse import quote

from contract_tests.clients import story
from contract_tests.clients.toolbox import tool_environment
from contract_tests.harness import WAIT_SECONDS, Gateway
from tooling.sdk_typescript import operations


def test_a_program_with_the_sdk_does_a_customers_whole_job(
    sdk_programs: Path, gateway: Gateway
) -> None:
    told = story.tell(gateway, sdk_programs, ("node", "out/main.mjs"))
    story.check(told, gateway)


def test_each_operation_of_the_contract_has_a_method(sdk_programs: Path) -> None:
    calls, requests = [], []
    for operation in operations():
        names = re.findall(r"{(\w+)}", operation.path)
        calls.append([operation.name, dict.fromkeys(names, "a/b c") | {"limit": 1}])
        path = re.sub(r"{\w+}", quote("a/b c", safe=""), operation.path)
        requests.append(f"{operation.verb.upper()} http://gateway/api{path}?limit=1")
    done = subprocess.run(
        ["node", "out/operations.mjs"],
        cwd=sdk_programs,
        env=tool_environment(),
        input=json.dumps(calls),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=WAIT_SECONDS,
    )
    assert json.loads(done.stdout) == requests
