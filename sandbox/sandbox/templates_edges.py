"""Other paths of templates: several languages at once, comparison, end of a pause."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from aiohttp import web

from sandbox import auth, graph_errors
from sandbox.bodies import graph_body
from sandbox.entities import PENDING, Template, Waba
from sandbox.keys import NETWORK, REVIEWER
from sandbox.templates_graph import drafted, of_account, own, submit
from sandbox.templates_review import APPROVED, PAUSED
from sandbox.templates_shape import check_new

AUTHENTICATION = "AUTHENTICATION"
MOST_LANGUAGES = 100


async def upsert(request: web.Request) -> web.Response:
    """``POST {waba_id}/upsert_message_templates``: an authentication template, in each of ``languages``."""
    waba, payload = auth.own_waba(request), await graph_body(request)
    languages = payload.pop("languages", None)
    if not isinstance(languages, list) or not 1 <= len(languages) <= MOST_LANGUAGES:
        raise graph_errors.parameter(
            f"Param languages must have from 1 to {MOST_LANGUAGES} languages."
        )
    each_alone = [payload | {"language": language} for language in languages]
    for one in each_alone:
        check_new(one)
        if one["category"].upper() != AUTHENTICATION:
            raise graph_errors.parameter("Param category must be AUTHENTICATION.")
    data = [_put(request, waba, one) for one in each_alone]
    return web.json_response({"data": data})


def _put(request: web.Request, waba: Waba, payload: dict[str, Any]) -> dict[str, Any]:
    """Create a template, or replace the components of the one with this name."""
    template = drafted(waba.id, payload)
    place = (template.name, template.language)
    known = (e for e in of_account(request, waba.id) if (e.name, e.language) == place)
    before = next(known, None)
    if before is not None:
        template = replace(template, id=before.id)
    submit(request, template, edited=before is not None)
    return {
        "id": template.id,
        "status": PENDING,
        "language": template.language,
        "category": template.category,
    }


async def compare(request: web.Request) -> web.Response:
    """``GET {template_id}/compare``: how often two templates were sent from ``start`` to ``end``.

    No person of the sandbox blocks a business. The platform's minimum of 1,000 sends is ignored.
    """
    query = request.query
    one, other = own(request), _other(request, query.get("template_ids", ""))
    start, end = (_seconds(name, query.get(name, "")) for name in ("start", "end"))
    sends = _sends(request, start, end)
    pair = [one, other]
    counts = [{"key": each.id, "value": sends[each.name, each.language]} for each in pair]
    reasons = [{"key": each.id, "value": "UNKNOWN_BLOCK_REASON"} for each in pair]
    rates = [each.id for each in pair]
    data = [
        {"metric": "BLOCK_RATE", "type": "RELATIVE", "order_by_relative_metric": rates},
        {"metric": "MESSAGE_SENDS", "type": "NUMBER_VALUES", "number_values": counts},
        {"metric": "TOP_BLOCK_REASON", "type": "STRING_VALUES", "string_values": reasons},
    ]
    return web.json_response({"data": data})


def _other(request: web.Request, template_id: str) -> Template:
    template = request.app[NETWORK].templates.get(template_id)
    if template is None or template.waba_id != own(request).waba_id:
        raise graph_errors.parameter(
            "Param template_ids must be the id of a template of this account."
        )
    return template


def _seconds(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 10:  # noqa: PLR2004 - to the year 2286
        raise graph_errors.parameter(f"Param {name} must be a Unix time.")
    return int(text)


def _sends(request: web.Request, start: int, end: int) -> Counter[tuple[str, str]]:
    network, waba_id = request.app[NETWORK], own(request).waba_id
    return Counter(
        (message.content["name"], message.content["language"]["code"])
        for message in network.messages.values()
        if message.type == "template"
        and start <= message.accepted_at <= end
        and network.numbers[message.number_id].waba_id == waba_id
    )


async def unpause(request: web.Request) -> web.Response:
    """``POST {template_id}/unpause``: a paused template may be sent again."""
    template = own(request)
    if template.status != PAUSED:
        return web.json_response({"success": False, "reason": "The template is not paused."})
    request.app[REVIEWER].change(template, status=APPROVED)
    return web.json_response({"success": True})
