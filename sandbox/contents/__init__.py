"""What the platform takes as the content of each type (Cloud API reference, Messages)."""

from __future__ import annotations

from sandbox.contents import contacts, interactive, media, simple, template
from sandbox.contents.checks import Check

CONTENTS: dict[str, Check] = {
    "audio": media.AUDIO,
    "contacts": contacts.CONTACTS,
    "document": media.DOCUMENT,
    "image": media.IMAGE,
    "interactive": interactive.check,
    "location": simple.LOCATION,
    "reaction": simple.REACTION,
    "sticker": media.STICKER,
    "template": template.TEMPLATE,
    "text": simple.TEXT,
    "video": media.VIDEO,
}
"""The check of each type's content. Each takes the content's place (its type) and the content."""
