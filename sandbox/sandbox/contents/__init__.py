"""The content that the platform accepts for each message type (Cloud API reference, Messages)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.contents import contacts, interactive, media, simple, template
from sandbox.contents.validators import Check

CONTENTS: dict[str, Check] = {
    "audio": media.AUDIO,
    "contacts": contacts.CONTACTS,
    "document": media.DOCUMENT,
    "image": media.IMAGE,
    "interactive": interactive.INTERACTIVE,
    "location": simple.LOCATION,
    "reaction": simple.REACTION,
    "sticker": media.STICKER,
    "template": template.TEMPLATE,
    "text": simple.TEXT,
    "video": media.VIDEO,
}
"""The check of each type's content. Each takes the content's place (its type) and the content."""

BETWEEN_PARTS: dict[str, Callable[[Any], None]] = {
    "interactive": interactive.check_parts,
    "template": template.check_parts,
}
"""Checks of the rules between the parts of a content, which follow the check of its shape.

JSON Schema cannot express these rules, so openapi.yaml lacks them. Raises GraphError.
"""
