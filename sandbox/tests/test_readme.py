"""The commands of the README send a message."""

import json
import os
import re
import subprocess
from pathlib import Path

from sandbox_harness import APP_ID, APP_SECRET, PATIENCE, Sandbox

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()
# The first installs the distribution.
_, *BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
# What the reader sets, by the property of a response.
VARIABLES = {"code": "CODE", "phone_number_id": "NUMBER", "access_token": "TOKEN"}


def test_the_commands_send_a_message(sandbox: Sandbox) -> None:
    environment = dict(os.environ)
    for block in BLOCKS:
        command = block.replace("http://127.0.0.1:8081", sandbox.url)
        command = command.replace("100000000000001", APP_ID)
        command = command.replace("sandbox-app-secret", APP_SECRET)
        said = subprocess.check_output(["bash", "-euc", command], env=environment, timeout=PATIENCE)
        response = json.loads(said)
        environment |= {
            VARIABLES[name]: response[name] for name in VARIABLES.keys() & response.keys()
        }
    assert [message["to"] for message in sandbox.accepted()] == ["15551234567"]
