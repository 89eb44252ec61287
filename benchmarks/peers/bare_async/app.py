"""One operation that validates a send's body and returns a constant."""

from pathlib import Path
from typing import Any

from connexion import AsyncApp

SENT = {"id": "msg_01JD4Y8Q3V0000000000000000", "waMessageId": "wamid.constant", "status": "sent"}

# The contract of the bare FlaskApp. Its operationId names a module next to it.
CONTRACT = Path(__file__).parent.parent / "bare_connexion" / "openapi.yaml"

app = AsyncApp(__name__, specification_dir=CONTRACT.parent)


async def send_message(body: dict[str, Any]) -> dict[str, str]:
    """POST /messages/send."""
    del body
    return SENT


app.add_api(CONTRACT.name, resolver=lambda _: send_message)
