"""The platform's callbacks: it escapes, signs and posts them."""

import hashlib
import hmac
import json
from dataclasses import dataclass
from itertools import count
from typing import Any

import requests

from contract_tests.harness import WAIT_SECONDS

SECRET = "test-app-secret"
VERIFY_TOKEN = "a verify token"
SETTINGS = {"GATEWAY_NETWORK_APP_SECRET": SECRET, "GATEWAY_NETWORK_VERIFY_TOKEN": VERIFY_TOKEN}
_numbers = count(1)


def new_wamid() -> str:
    """An identifier in the platform's form."""
    return f"wamid.HBgLMTY1MDU1NTEyMzQVAgASGBQzQ{next(_numbers):08d}/+=="


def sign(body: bytes) -> str:
    """The value of X-Hub-Signature-256."""
    return "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


def escape(callback: Any) -> bytes:
    """JSON as the platform writes it: ASCII only, with a backslash before each slash."""
    return json.dumps(callback, separators=(",", ":")).replace("/", "\\/").encode("ascii")


def entry(waba_id: str, *changes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Changes of one business account."""
    return {"id": waba_id, "changes": list(changes)} | more


def messages(phone_number_id: str, **value: Any) -> dict[str, Any]:
    """A change of the field ``messages``, without the members that are None."""
    metadata = {"display_phone_number": "+1 555-078-3881", "phone_number_id": phone_number_id}
    given = {key: item for key, item in value.items() if item is not None}
    return {
        "value": {"messaging_product": "whatsapp", "metadata": metadata} | given,
        "field": "messages",
    }


@dataclass(frozen=True)
class Platform:
    """Calls one service."""

    url: str

    def tell(self, *entries: dict[str, Any]) -> bytes:
        """Post a callback and require a 200. Returns its body."""
        body = escape({"object": "whatsapp_business_account", "entry": list(entries)})
        answer = self.post(body, sign(body))
        assert answer.status_code == 200, answer.text
        return body

    def post(self, body: bytes, signature: str | None) -> requests.Response:
        """Post these bytes."""
        headers = {"Content-Type": "application/json"}
        if signature is not None:
            headers["X-Hub-Signature-256"] = signature
        return requests.post(
            f"{self.url}/network/callback", data=body, headers=headers, timeout=WAIT_SECONDS
        )
