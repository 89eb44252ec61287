"""Contents of a few members: text, location, reaction."""

from __future__ import annotations

from sandbox import graph_errors
from sandbox.contents.validators import MESSAGE_ID, boolean, fields, number, text

MAX_TEXT = 4096
MAX_NAME = 1000
# The longest emoji, a family with skin tones, is a sequence of about a dozen characters.
MAX_EMOJI = 64

TEXT = fields({"body": text(MAX_TEXT, refusal=graph_errors.parameter)}, {"preview_url": boolean})
LOCATION = fields(
    {"latitude": number(-90, 90), "longitude": number(-180, 180)},
    {"name": text(MAX_NAME), "address": text(MAX_NAME)},
)
# An empty emoji takes the reaction back.
REACTION = fields({"message_id": MESSAGE_ID, "emoji": text(MAX_EMOJI, least=0)})
