"""whatsapp-api-js from npm, unmodified, against the sandbox as graph.facebook.com."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from contract_tests.doc_blocks import BIN
from contract_tests.third_party.world import LINK, PERSON, World
from contract_tests.waiting import WAIT_SECONDS

SCRIPT = Path(__file__).with_name("whatsapp_api_js.mjs")
# The members of a response by the kind of call. Any other call returns a sent message.
HAS = {
    "success": "success",
    "id": "id",
    "url": "url",
    "size": "size",
    "error": "error",
    "refused": "error",
    "code": "code",
    "data": "data",
    "block_users": "block_users",
}
CALLS = {"initiateCall", "preacceptCall", "rejectCall", "acceptCall", "terminateCall"}
# Methods that read callbacks, or on which the others are built.
LOCAL = {"post", "get", "$$apiFetch$$", "getBody", "verifyRequestSignature"}


def answers(world: World) -> list[dict[str, Any]]:
    """The responses to the client, call by call."""
    business = world.business
    told = {
        "token": business.token,
        "phone": business.number_id,
        "person": PERSON,
        "inbound": world.inbound(),
        "mediaId": world.media_id(),
        "qrCode": world.qr_code(),
        "link": LINK,
    }
    done = subprocess.run(
        [BIN / "node", SCRIPT, json.dumps(told)],
        env={**os.environ, **world.platform.environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_call_works_or_is_refused_as_documented(world: World) -> None:
    *said, last = answers(world)
    for each in said:
        expected = HAS.get(each["kind"], "messages")
        assert expected in each["answer"], each
    called = {each["method"] for each in said}
    assert set(last["answer"]["methods"]) == called | CALLS | LOCAL
