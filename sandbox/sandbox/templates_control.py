"""``/_sandbox/templates``: decisions of the platform about templates."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aiohttp import web

from sandbox import graph_errors
from sandbox.bodies import json_object
from sandbox.control_api import PREFIX, ControlError
from sandbox.entities import PENDING
from sandbox.graph_errors import TABLE
from sandbox.keys import NETWORK, REVIEWER
from sandbox.templates_review import APPROVED, DISABLED, NO_REASON, PAUSED, REJECTED
from sandbox.templates_shape import CATEGORIES, check_parts

STATUSES = (PENDING, APPROVED, REJECTED, PAUSED, DISABLED)
SCORES = ("GREEN", "YELLOW", "RED", "UNKNOWN")
CHOICES = {"status": STATUSES, "category": CATEGORIES, "quality_score": SCORES}
OTHERS = ("components", "reason", "refusal", "silent")
MAX_REASON = 64
# Only sends of templates are refused with these.
REFUSALS = [code for code in TABLE if code // 1000 == 132]  # noqa: PLR2004 - the codes of templates


def add_routes(app: web.Application) -> None:
    """Register the paths."""
    app.add_routes(
        [
            web.get(f"{PREFIX}/templates", list_templates),
            web.post(f"{PREFIX}/templates/{{template_id}}", change_template),
        ]
    )


async def list_templates(request: web.Request) -> web.Response:
    """All templates, or those of ``waba_id``."""
    waba_id = request.query.get("waba_id")
    templates = request.app[NETWORK].templates.values()
    return web.json_response(
        {"data": [asdict(each) for each in templates if waba_id in {None, each.waba_id}]}
    )


async def change_template(request: web.Request) -> web.Response:
    """Change a template as the platform, and send its callbacks.

    ``status`` (with ``reason`` for REJECTED), ``category``, ``quality_score``, ``components``, and
    ``refusal``, the error code that each send of it gets, or null. A review that is under way is over with a
    new status. With ``silent`` no callback is sent, as if it were lost.
    """
    template = request.app[NETWORK].templates.get(request.match_info["template_id"])
    if template is None:
        raise ControlError(404, "there is no template with this id")
    try:
        changes = _checked(await json_object(request))
    except ValueError as error:
        raise ControlError(400, str(error)) from error
    except graph_errors.GraphError as error:
        raise ControlError(400, error.error["message"]) from error
    is_silent = changes.pop("silent", False)
    changed = request.app[REVIEWER].change(template, is_silent=is_silent, **changes)
    return web.json_response(asdict(changed))


def _checked(body: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(body) - {*CHOICES, *OTHERS})
    if unknown:
        raise ValueError(f"unknown property {unknown[0]}")
    for name, words in CHOICES.items():
        if name in body and body[name] not in words:
            raise ValueError(f"{name} must be one of {', '.join(words)}")
    if body.get("refusal") is not None and body["refusal"] not in REFUSALS:
        raise ValueError(f"refusal must be null or one of {', '.join(map(str, REFUSALS))}")
    if body.get("silent", False) not in (True, False):
        raise ValueError("silent must be true or false")
    if "components" in body:
        check_parts({"components": body["components"]})
    reason = body.pop("reason", NO_REASON)
    if not isinstance(reason, str) or not 1 <= len(reason) <= MAX_REASON:
        raise ValueError(f"reason must be a text of 1 to {MAX_REASON} characters")
    decided = {"review_at": None, "rejected_reason": reason} if "status" in body else {}
    return body | decided
