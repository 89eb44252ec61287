"""The shell command that sends a first message from the reader's account."""

import json
import shlex

from gateway.settings import get_settings
from models.numbers.number import Number, NumberStatus

# The shell variable for the reader's API key, because only a hash of it is stored.
KEY_VARIABLE = "$GATEWAY_KEY"
# A fictitious number. The sandbox accepts it, and the platform refuses it without harm.
RECIPIENT = "15551234567"


def first_message(account_id: str, key: str = KEY_VARIABLE) -> str | None:
    """The shell command. None while no number of the account can send."""
    numbers = Number.all(account_id)
    active = [number for number in numbers if number.status == NumberStatus.ACTIVE]
    if not active:
        return None
    body = {
        "number_id": active[0].id,
        "to": RECIPIENT,
        "type": "text",
        "text": {"body": "Hello"},
    }
    return " \\\n  ".join(
        (
            f"curl {shlex.quote(f'{get_settings().public_url}/api/messages/send')}",
            # In double quotes, so that the shell expands a variable.
            f'-H "Authorization: Bearer {key}"',
            '-H "Content-Type: application/json"',
            f"-d {shlex.quote(json.dumps(body))}",
        )
    )
