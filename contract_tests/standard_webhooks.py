"""The libraries of Standard Webhooks from PyPI and npm, with which a customer verifies deliveries."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from standardwebhooks import Webhook, WebhookVerificationError

from contract_tests.doc_blocks import BIN
from contract_tests.waiting import WAIT_SECONDS

SCRIPT = Path(__file__).with_suffix(".mjs")
VERIFIED = "verified"
UNSIGNED = "No matching signature found"
TOO_OLD = "Message timestamp too old"


def verdict(secret: str, headers: Mapping[str, str], body: bytes) -> str:
    """VERIFIED, or the reason of a refusal. Both libraries must agree."""
    of_python, of_node = _in_python(secret, headers, body), _in_node(secret, headers, body)
    assert of_python == of_node
    return of_python


def _in_python(secret: str, headers: Mapping[str, str], body: bytes) -> str:
    try:
        event = Webhook(secret).verify(body, dict(headers))
    except WebhookVerificationError as error:
        return str(error)
    assert event == json.loads(body)
    return VERIFIED


def _in_node(secret: str, headers: Mapping[str, str], body: bytes) -> str:
    done = subprocess.run(
        [BIN / "node", SCRIPT, secret, json.dumps(dict(headers))],
        input=body,
        capture_output=True,
        check=False,
        timeout=WAIT_SECONDS,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()
