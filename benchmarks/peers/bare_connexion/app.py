"""One operation that validates a send's body and returns a constant, and a plain route for raw bodies."""

from pathlib import Path
from typing import Any

from connexion import FlaskApp
from flask import request

SENT = {"id": "msg_01JD4Y8Q3V0000000000000000", "waMessageId": "wamid.constant", "status": "sent"}

app = FlaskApp(__name__, specification_dir=Path(__file__).parent)


def send_message(body: dict[str, Any]) -> dict[str, str]:
    """POST /messages/send."""
    del body
    return SENT


@app.app.post("/network/callback")
def receive() -> str:
    """Read the raw body and respond."""
    request.get_data()
    return ""


app.add_api("openapi.yaml")
