"""``/{waba_id}/message_templates`` and ``/{template_id}`` (Cloud API, Message templates)."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from typing import Any

from aiohttp import web

from sandbox import auth, graph_errors
from sandbox.bodies import graph_body
from sandbox.entities import PENDING, Template
from sandbox.graph_errors import GraphError
from sandbox.keys import NETWORK, REVIEWER
from sandbox.nodes import pick
from sandbox.numbering import new_object_id
from sandbox.templates_review import to_review
from sandbox.templates_shape import TTL, check_new, check_parts, flaw

DEFAULTS = ("name", "parameter_format", "components", "language", "status", "category")
# Fields that the sandbox's templates have no value for.
WITHOUT_VALUE = (
    "correct_category",
    "cta_url_link_tracking_opted_out",
    "degrees_of_freedom_spec",
    "library_template_name",
    "previous_category",
    "sub_category",
)
# The filters of a list, besides those for its texts.
FILTERS = ("name", "language", "status", "category", "quality_score")
PER_PAGE, MAX_PER_PAGE = 25, 1000
# Of a WABA whose business is verified (Cloud API, Template limits).
MAX_TEMPLATES = 6000
EXISTS, GONE = 2388024, 2593002


async def fetch(request: web.Request) -> web.Response:
    """``GET {waba_id}/message_templates``: a page of the templates that match the filters."""
    waba = auth.own_waba(request)
    found = [each for each in of_account(request, waba.id) if _fits(each, request)]
    after, limit = request.query.get("after"), _limit(request)
    start = 0 if after is None else _position(found, after)
    page = found[start : start + limit]
    fields = request.query.get("fields")
    answer: dict[str, Any] = {"data": [_node(each, fields) for each in page]}
    if "summary" in request.query:
        answer["summary"] = _summary(request, waba.id, len(found))
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
    known = of_account(request, waba.id)
    if any((e.name, e.language) == (payload["name"], payload["language"]) for e in known):
        raise _refusal("Content in this language already exists", EXISTS)
    if len(known) >= MAX_TEMPLATES:
        raise graph_errors.parameter(
            f"The account has {MAX_TEMPLATES} templates, as many as it may."
        )
    template = drafted(waba.id, payload)
    submit(request, template)
    return web.json_response({"id": template.id, "status": PENDING, "category": template.category})


def drafted(waba_id: str, payload: dict[str, Any]) -> Template:
    """The template that a checked payload describes."""
    return Template(
        id=new_object_id(),
        waba_id=waba_id,
        name=payload["name"],
        language=payload["language"],
        category=payload["category"].upper(),
        components=payload["components"],
        parameter_format=(payload.get("parameter_format") or "POSITIONAL").upper(),
        message_send_ttl_seconds=payload.get(TTL),
    )


async def edit(request: web.Request) -> web.Response:
    """``POST {template_id}``: another category or other components, which are reviewed again."""
    template = own(request)
    payload = await graph_body(request)
    check_parts(payload)
    if template.status == PENDING:
        raise graph_errors.parameter("A template that is in review cannot be edited.")
    edited = replace(
        template,
        category=str(payload.get("category", template.category)).upper(),
        components=payload.get("components", template.components),
        message_send_ttl_seconds=payload.get(TTL, template.message_send_ttl_seconds),
    )
    submit(request, edited, edited=True)
    named = {"id": template.id, "name": template.name, "category": edited.category}
    return web.json_response({"success": True, **named})


def submit(request: web.Request, template: Template, *, edited: bool = False) -> None:
    """Have a new or edited template reviewed. Raises GraphError 100."""
    behaviour = request.app[NETWORK].behaviour
    problem = flaw(template.category, template.components)
    if problem is not None and behaviour.strict_sends:
        raise graph_errors.parameter(problem)
    request.app[REVIEWER].submit(to_review(template, behaviour), edited=edited)


async def delete(request: web.Request) -> web.Response:
    """``DELETE {waba_id}/message_templates``: by name in all languages, or one by ``hsm_id`` and name."""
    waba = auth.own_waba(request)
    given = {**await graph_body(request), **request.query}
    name, template_id = given.get("name"), given.get("hsm_id")
    if not name:
        raise graph_errors.parameter("The parameter name is required.")
    found = [
        each
        for each in of_account(request, waba.id)
        if each.name == name and template_id in {None, each.id}
    ]
    if not found:
        raise _refusal("Message template not found", GONE)
    request.app[REVIEWER].delete(found)
    return web.json_response({"success": True})


def node(request: web.Request, fields: str | None) -> dict[str, Any]:
    """``GET {template_id}``."""
    return _node(own(request), fields)


def of_account(request: web.Request, waba_id: str) -> list[Template]:
    """The templates of a WABA, the oldest first."""
    templates = request.app[NETWORK].templates.values()
    return [each for each in templates if each.waba_id == waba_id]


def own(request: web.Request) -> Template:
    """The template of the path, if the token opens its WABA. Raises GraphError 100/33."""
    token, object_id = auth.require_token(request), request.match_info["object_id"]
    template = request.app[NETWORK].templates.get(object_id)
    if template is None or template.waba_id != token.waba_id:
        raise graph_errors.no_such_object(request.method, object_id)
    return template


def _summary(request: web.Request, waba_id: str, found: int) -> dict[str, Any]:
    """The numbers of matching, existing and allowed templates. The requested fields are ignored."""
    return {
        "total_count": found,
        "message_template_count": len(of_account(request, waba_id)),
        "message_template_limit": MAX_TEMPLATES,
        "are_translations_complete": True,
    }


def _fits(template: Template, request: web.Request) -> bool:
    # A filter may have several values.
    query = {name: value.lower() for name, value in request.query.items()}
    wanted = {name: query[name].split(",") for name in FILTERS if name in query}
    content, either = query.get("content", ""), query.get("name_or_content", "")
    text = str(template.components).lower()
    return (
        all(str(getattr(template, name)).lower() in words for name, words in wanted.items())
        and content in text
        and (either in template.name or either in text)
    )


def _limit(request: web.Request) -> int:
    text = request.query.get("limit", str(PER_PAGE))
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0  # noqa: PLR2004
    if limit < 1:
        raise graph_errors.parameter("Param limit must be a positive integer.")
    return min(limit, MAX_PER_PAGE)


def _cursor(template: Template) -> str:
    return base64.urlsafe_b64encode(template.id.encode()).decode()


def _position(found: list[Template], after: str) -> int:
    """The index at which the page after a cursor begins. Raises GraphError 100."""
    try:
        last = base64.urlsafe_b64decode(after.encode()).decode()
        return [each.id for each in found].index(last) + 1
    except (binascii.Error, ValueError):
        raise graph_errors.parameter("Param after is no cursor of this list.") from None


def _node(template: Template, fields: str | None) -> dict[str, Any]:
    everything = {
        "id": template.id,
        "name": template.name,
        "language": template.language,
        "status": template.status,
        "category": template.category,
        "components": template.components,
        "parameter_format": template.parameter_format,
        "quality_score": {"score": template.quality_score, "date": int(template.scored_at)},
        "rejected_reason": template.rejected_reason,
        "message_send_ttl_seconds": template.message_send_ttl_seconds,
        **dict.fromkeys(WITHOUT_VALUE),
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
