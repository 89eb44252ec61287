"""``/{waba_id}/message_templates`` and ``/{template_id}`` (Cloud API, Message templates)."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from typing import Any

from aiohttp import web

from sandbox import auth, errors
from sandbox.bodies import graph_body
from sandbox.entities import PENDING, Template
from sandbox.errors import GraphError
from sandbox.keys import NETWORK, REVIEWER
from sandbox.nodes import pick
from sandbox.numbering import new_object_id
from sandbox.templates_review import to_review
from sandbox.templates_shape import check_new, check_parts, flaw

DEFAULTS = ("name", "parameter_format", "components", "language", "status", "category")
# These stay out of the platform's answers until a template has them.
FILTERS = ("name", "language", "status", "category", "quality_score")
PER_PAGE, MAX_PER_PAGE = 25, 1000
# Of a WABA whose business is verified (Cloud API, Template limits).
MAX_TEMPLATES = 6000
EXISTS, GONE = 2388024, 2593002


async def fetch(request: web.Request) -> web.Response:
    """``GET {waba_id}/message_templates``: those that fit the filters, a page of them."""
    waba = auth.own_waba(request)
    found = [each for each in _all(request, waba.id) if _fits(each, request)]
    after, limit = request.query.get("after"), _limit(request)
    start = 0 if after is None else _position(found, after)
    page = found[start : start + limit]
    fields = request.query.get("fields")
    answer: dict[str, Any] = {"data": [_node(each, fields) for each in page]}
    if page:
        cursors = {"before": _cursor(page[0]), "after": _cursor(page[-1])}
        answer["paging"] = {"cursors": cursors}
        if start + limit < len(found):
            query = {**request.query, "after": cursors["after"]}
            # The platform's own address has the token in it as well.
            answer["paging"]["next"] = str(request.url.with_query(query))
    return web.json_response(answer)


async def create(request: web.Request) -> web.Response:
    """``POST {waba_id}/message_templates``: submit a template for review."""
    waba = auth.own_waba(request)
    payload = await graph_body(request)
    check_new(payload)
    known = _all(request, waba.id)
    if any((e.name, e.language) == (payload["name"], payload["language"]) for e in known):
        raise _refusal("Content in this language already exists", EXISTS)
    if len(known) >= MAX_TEMPLATES:
        raise errors.parameter(f"The account has {MAX_TEMPLATES} templates, as many as it may.")
    template = Template(
        id=new_object_id(),
        waba_id=waba.id,
        name=payload["name"],
        language=payload["language"],
        category=payload["category"].upper(),
        components=payload["components"],
        parameter_format=(payload.get("parameter_format") or "POSITIONAL").upper(),
    )
    _submit(request, template)
    return web.json_response({"id": template.id, "status": PENDING, "category": template.category})


async def edit(request: web.Request) -> web.Response:
    """``POST {template_id}``: another category or other components, which are reviewed again."""
    template = _own(request)
    payload = await graph_body(request)
    check_parts(payload)
    if template.status == PENDING:
        raise errors.parameter("A template that is in review cannot be edited.")
    edited = replace(
        template,
        category=str(payload.get("category", template.category)).upper(),
        components=payload.get("components", template.components),
    )
    _submit(request, edited, edited=True)
    return web.json_response({"success": True})


def _submit(request: web.Request, template: Template, *, edited: bool = False) -> None:
    behaviour = request.app[NETWORK].behaviour
    problem = flaw(template.category, template.components)
    if problem is not None and behaviour.strict_sends:
        raise errors.parameter(problem)
    request.app[REVIEWER].submit(to_review(template, behaviour), edited=edited)


async def delete(request: web.Request) -> web.Response:
    """``DELETE {waba_id}/message_templates``: by name in all languages, or one by ``hsm_id`` and name."""
    waba = auth.own_waba(request)
    given = {**await graph_body(request), **request.query}
    name, template_id = given.get("name"), given.get("hsm_id")
    if not name:
        raise errors.parameter("The parameter name is required.")
    found = [
        each
        for each in _all(request, waba.id)
        if each.name == name and template_id in {None, each.id}
    ]
    if not found:
        raise _refusal("Message template not found", GONE)
    request.app[REVIEWER].delete(found)
    return web.json_response({"success": True})


def node(request: web.Request, fields: str | None) -> dict[str, Any]:
    """``GET {template_id}``."""
    return _node(_own(request), fields)


def _all(request: web.Request, waba_id: str) -> list[Template]:
    templates = request.app[NETWORK].templates.values()
    return [each for each in templates if each.waba_id == waba_id]


def _own(request: web.Request) -> Template:
    """The template of the path, if the token opens its WABA. Raises GraphError 100/33."""
    token, object_id = auth.require_token(request), request.match_info["object_id"]
    template = request.app[NETWORK].templates[object_id]
    if template.waba_id != token.waba_id:
        raise errors.no_such_object(request.method, object_id)
    return template


def _fits(template: Template, request: web.Request) -> bool:
    wanted = {name: request.query[name] for name in FILTERS if name in request.query}
    said = request.query.get("name_or_content", "").lower()
    return all(
        str(getattr(template, name)).lower() == value.lower() for name, value in wanted.items()
    ) and (said in template.name or said in str(template.components).lower())


def _limit(request: web.Request) -> int:
    text = request.query.get("limit", str(PER_PAGE))
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0  # noqa: PLR2004
    if limit < 1:
        raise errors.parameter("Param limit must be a positive integer.")
    return min(limit, MAX_PER_PAGE)


def _cursor(template: Template) -> str:
    return base64.urlsafe_b64encode(template.id.encode()).decode()


def _position(found: list[Template], after: str) -> int:
    """Where the page behind a cursor begins. Raises GraphError 100."""
    try:
        last = base64.urlsafe_b64decode(after.encode()).decode()
        return [each.id for each in found].index(last) + 1
    except (binascii.Error, ValueError):
        raise errors.parameter("Param after is no cursor of this list.") from None


def _node(template: Template, fields: str | None) -> dict[str, Any]:
    everything = {
        "id": template.id,
        "name": template.name,
        "language": template.language,
        "status": template.status,
        "category": template.category,
        "components": template.components,
        "parameter_format": template.parameter_format,
        "quality_score": {"score": template.quality_score},
        "rejected_reason": template.rejected_reason,
        "message_send_ttl_seconds": None,
        "previous_category": None,
    }
    return pick(everything, fields, DEFAULTS, "WhatsAppMessageTemplate")


def _refusal(title: str, subcode: int) -> GraphError:
    return GraphError(
        400,
        {
            "message": "Invalid parameter",
            "type": "OAuthException",
            "code": 100,
            "error_subcode": subcode,
            "is_transient": False,
            "error_user_title": title,
            "error_user_msg": f"{title}.",
        },
    )
