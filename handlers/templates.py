"""Tag templates of the contract: the message templates of a number's business account."""

from functools import partial
from typing import Any, overload

from starlette.responses import Response

from handlers.in_parts import in_parts
from handlers.stored_answers import response_of
from models.database import read
from resources.page import page_pieces
from resources.template import template_object
from services import templates
from services.repeating import Once

# The network's names of the options of a template.
OPTIONS = {
    "parameterFormat": "parameter_format",
    "allowCategoryChange": "allow_category_change",
    "messageSendTtl": "message_send_ttl_seconds",
}


async def list_templates(  # noqa: PLR0913, PLR0917 - the parameters of the contract
    user: str,
    number_id: str,
    limit: int,
    offset: int,
    name: str | None = None,
    language: str | None = None,
    status: str | None = None,
    category: str | None = None,
    after: str | None = None,
) -> Response:
    """GET /numbers/{number_id}/templates."""
    wanted = {"name": name, "language": language, "status": status, "category": category}
    page, number_ids = await templates.list_templates(
        user, number_id, limit, after or offset, **wanted
    )
    pieces = page_pieces(page, partial(template_object, number_ids=number_ids))
    return await read(partial(in_parts, pieces))


@overload
async def create_template(
    user: str, number_id: str, payload: dict[str, Any]
) -> tuple[dict[str, Any], int]: ...
@overload
async def create_template(
    user: str, number_id: str, payload: dict[str, Any], idempotency_key: str
) -> Response: ...
async def create_template(
    user: str, number_id: str, payload: dict[str, Any], idempotency_key: str | None = None
) -> tuple[dict[str, Any], int] | Response:
    """POST /numbers/{number_id}/templates."""
    submitted = {key: payload[key] for key in ("name", "language", "category", "components")}
    submitted |= _options(payload)
    if idempotency_key is not None:
        once = Once.of(user, "createTemplate", idempotency_key, [number_id, payload])
        return response_of(await templates.create_template_once(submitted, number_id, once))
    template, number_ids = await templates.create_template(user, number_id, submitted)
    return template_object(template, number_ids), 201


def _options(payload: dict[str, Any]) -> dict[str, Any]:
    return {OPTIONS[name]: payload[name] for name in OPTIONS if name in payload}


async def update_template(
    user: str, number_id: str, template_id: str, payload: dict[str, Any]
) -> dict[str, Any]:
    """PATCH /numbers/{number_id}/templates/{template_id}."""
    changes = {name: payload[name] for name in payload if name not in OPTIONS} | _options(payload)
    template, number_ids = await templates.update_template(user, number_id, template_id, changes)
    return template_object(template, number_ids)


async def refresh_templates(user: str, number_id: str) -> Response:
    """POST /numbers/{number_id}/templates/refresh."""
    await templates.refresh_templates(user, number_id)
    return Response(status_code=204)


async def delete_template(user: str, number_id: str, name: str, id_: str | None = None) -> Response:
    """DELETE /numbers/{number_id}/templates."""
    await templates.delete_template(user, number_id, name, id_)
    return Response(status_code=204)
