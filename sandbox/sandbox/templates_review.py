"""Changes of templates by the platform: reviews, pauses, and changes of quality and category.

Each change sends its callback (Cloud API, Webhooks: message_template_status_update and others).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from sandbox import clock
from sandbox.behaviour import INVALID_FORMAT, NO_REVIEW, REJECT, Behaviour
from sandbox.entities import PENDING, Template
from sandbox.journal import Fact
from sandbox.network import Network
from sandbox.templates_shape import flaw
from sandbox.timetable import Timetable

APPROVED, REJECTED, PAUSED, DISABLED, DELETED = (
    "APPROVED",
    "REJECTED",
    "PAUSED",
    "DISABLED",
    "DELETED",
)
NO_REASON = "NONE"


def to_review(template: Template, behaviour: Behaviour) -> Template:
    """The template as it waits for its review, whose verdict is settled now."""
    verdict, reason = APPROVED, NO_REASON
    if behaviour.template_review == REJECT:
        verdict, reason = REJECTED, behaviour.template_reject_reason
    elif flaw(template.category, template.components) is not None:
        verdict, reason = REJECTED, INVALID_FORMAT
    ends = clock.now() + behaviour.template_review_ms / 1000
    return replace(
        template,
        status=PENDING,
        rejected_reason=NO_REASON,
        review_at=None if behaviour.template_review == NO_REVIEW else ends,
        verdict=verdict,
        reason=reason,
    )


class Reviewer:
    """Changes templates and sends their callbacks. All its state can be rebuilt from the journal."""

    def __init__(
        self,
        network: Network,
        announce: Callable[[Iterable[Fact]], None],
        timetable: Timetable,
    ) -> None:
        self._network = network
        self._announce = announce
        self._timetable = timetable

    def resume(self) -> None:
        """After a start: continue every pending review."""
        for template in self._network.templates.values():
            self.schedule(template)

    def schedule(self, template: Template) -> None:
        """End its review at its time."""
        if template.review_at is not None:
            end = partial(self._end, template.id, template.review_at)
            self._timetable.at(template.review_at, end)

    def _end(self, template_id: str, review_at: float) -> None:
        template = self._network.templates.get(template_id)
        # It may have been deleted, edited or decided about meanwhile.
        if template is not None and template.review_at == review_at:
            decided: dict[str, Any] = {
                "status": template.verdict,
                "rejected_reason": template.reason,
            }
            self.change(template, review_at=None, **decided)

    def submit(self, template: Template, *, edited: bool = False) -> None:
        """Record a new or edited template, and have it reviewed."""
        facts: list[Fact] = [_fact(template)]
        if edited:
            facts.append(_update(template, "message_template_components_update", _parts(template)))
        self._record(facts)
        self.schedule(template)

    def change(self, template: Template, *, is_silent: bool = False, **changes: Any) -> Template:
        """Change a template, and send callbacks about what differs, unless ``is_silent``."""
        if changes.get("quality_score", template.quality_score) != template.quality_score:
            changes["scored_at"] = clock.now()
        changed = replace(template, **changes)
        facts = facts_of_change(template, changed)
        self._record(facts[:1] if is_silent else facts)
        return changed

    def delete(self, templates: list[Template]) -> None:
        """Delete templates."""
        facts: list[Fact] = []
        for each in templates:
            facts += [
                {"fact": "template_gone", "id": each.id},
                _update(
                    each, "message_template_status_update", _status(replace(each, status=DELETED))
                ),
            ]
        self._record(facts)

    def _record(self, facts: list[Fact]) -> None:
        self._network.record(*facts)
        self._announce(facts)


def facts_of_change(before: Template, after: Template) -> list[Fact]:
    """The template as it is now, and the callbacks about what differs."""
    return [_fact(after), *_changes(before, after)]


def _fact(template: Template) -> Fact:
    return {"fact": "template", **asdict(template)}


def _update(template: Template, field: str, value: dict[str, Any]) -> Fact:
    named = {
        "message_template_id": int(template.id),
        "message_template_name": template.name,
        "message_template_language": template.language,
    }
    return {
        "fact": "account",
        "key": "template-" + secrets.token_hex(8),
        "waba_id": template.waba_id,
        "entry_id": template.waba_id,
        "value": named | value,
        "at": clock.now(),
        "webhook_field": field,
    }


def _changes(before: Template, after: Template) -> list[Fact]:
    facts: list[Fact] = []
    if before.status != after.status:
        facts.append(_update(after, "message_template_status_update", _status(after)))
    if before.category != after.category:
        value = {"previous_category": before.category, "new_category": after.category}
        facts.append(_update(after, "template_category_update", value))
    if before.quality_score != after.quality_score:
        value = {
            "previous_quality_score": before.quality_score,
            "new_quality_score": after.quality_score,
        }
        facts.append(_update(after, "message_template_quality_update", value))
    if before.components != after.components:
        facts.append(_update(after, "message_template_components_update", _parts(after)))
    return facts


def _status(template: Template) -> dict[str, Any]:
    value: dict[str, Any] = {
        "event": template.status,
        "reason": template.rejected_reason,
        "message_template_category": template.category,
    }
    if template.status == PAUSED:
        value["other_info"] = {
            "title": "FIRST_PAUSE",
            "description": "Your template has been paused for 3 hours because of its low quality.",
        }
    if template.status == DISABLED:
        value["disable_info"] = {"disable_date": int(clock.now())}
    return value


def _parts(template: Template) -> dict[str, Any]:
    """The texts and buttons, in the words of the callback about components."""
    parts = {str(each["type"]).upper(): each for each in template.components}
    value: dict[str, Any] = {
        "message_template_element": str(parts.get("BODY", {}).get("text", "")),
    }
    for kind, name in (("HEADER", "title"), ("FOOTER", "footer")):
        if parts.get(kind, {}).get("text"):
            value[f"message_template_{name}"] = parts[kind]["text"]
    if buttons := parts.get("BUTTONS", {}).get("buttons"):
        value["message_template_buttons"] = [
            {
                f"message_template_button_{name}": button[name]
                for name in ("type", "text", "url", "phone_number")
                if name in button
            }
            for button in buttons
        ]
    return value
