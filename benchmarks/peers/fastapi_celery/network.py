"""Calls the messaging network over a kept session."""

import os
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from benchmarks.peers.fastapi_celery.database import THREADS

TIMEOUT_SECONDS = 30

_session = requests.Session()
_session.trust_env = False
_session.mount("http://", HTTPAdapter(pool_maxsize=THREADS))


def send(phone_number_id: str, token: str, message: dict[str, Any]) -> str:
    """The network's identifier of a message. Raises requests.RequestException."""
    answer = _session.post(
        f"{os.environ['NETWORK_URL']}/{phone_number_id}/messages",
        json={"messaging_product": "whatsapp", "recipient_type": "individual", **message},
        headers={"Authorization": f"Bearer {token}"},
        timeout=TIMEOUT_SECONDS,
    )
    answer.raise_for_status()
    return str(answer.json()["messages"][0]["id"])
