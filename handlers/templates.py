"""Tag templates of the contract: the message templates of a number's business account.

The responses show the stored templates. If these are out of date, they are read from the network first
(services.template_copy).
"""

from functools import partial
from typing import Any

from starlette.responses import Response

from models.database import commit, read
from models.messages.template import Template, TemplateList, active_numbers
from models.numbers.number import Number
from networks.interface import Templates
from networks.registry import network_of, offered
from resources.page import page_object
from resources.template import template_object
from services import doorbells, template_copy
from services.errors import ConflictError, NotFoundError
from services.network_failures import Asked, asking, capable
from services.owned import active_number

ACTION = "manage templates"
READING = Asked(
    verb="read templates",
    done="read",
    thing="request",
    unclear="so the templates could not be read. Try again.",
)
CREATING = Asked(
    verb="create templates",
    done="created",
    thing="template",
    unclear="so the template may have been created. List the templates before you create it again.",
)
DELETING = Asked(
    verb="delete templates",
    done="deleted",
    thing="request",
    unclear="so the template may have been deleted. List the templates before you delete it again.",
)
# A list is read again if a callback or another request changed the rows meanwhile.
MOST_READS = 3


async def list_templates(
    user: str,
    number_id: str,
    limit: int,
    offset: int,
    name: str | None = None,
    language: str | None = None,
    status: str | None = None,
    category: str | None = None,
) -> dict[str, Any]:
    """GET /numbers/{number_id}/templates."""
    number = await read(partial(active_number, number_id, user, ACTION))
    await _freshen(number)
    wanted = {"name": name, "language": language, "status": status, "category": category}
    return await read(partial(_page, number, limit, offset, wanted))


def _page(number: Number, limit: int, offset: int, wanted: dict[str, str | None]) -> dict[str, Any]:
    page = Template.search(number, limit, offset, **wanted)
    return page_object(page, partial(template_object, number_ids=_number_ids(number)))


def _number_ids(number: Number) -> list[str]:
    return [each.id for each in active_numbers(number.account_id, number.waba_id)]


async def create_template(
    user: str, number_id: str, payload: dict[str, Any]
) -> tuple[dict[str, Any], int]:
    """POST /numbers/{number_id}/templates."""
    number = await read(partial(active_number, number_id, user, ACTION))
    await _freshen(number)
    await read(partial(_refuse_known, number, payload))
    submitted = {key: payload[key] for key in ("name", "language", "category", "components")}
    if "parameterFormat" in payload:
        submitted["parameter_format"] = payload["parameterFormat"]
    async with asking(number, CREATING) as sender:
        network = offered(Templates, network_of(number))
        made = await network.create_template(sender, number.waba_id, submitted)
    template = await commit(partial(template_copy.add, number, made))
    doorbells.deliveries.ring()
    return template_object(template, await read(partial(_number_ids, number))), 201


def _refuse_known(number: Number, payload: dict[str, Any]) -> None:
    """Raise ConflictError if the business account has a template with this name and language."""
    for known in Template.named(number, payload["name"]):
        if known.language == payload["language"]:
            raise ConflictError(
                f"The template {known.name} exists in {known.language} already; it is"
                f" {known.shown_status}. Choose another name, or delete it first.",
                field="/name",
            )


async def delete_template(
    user: str,
    number_id: str,
    name: str,
    id_: str | None = None,
) -> Response:
    """DELETE /numbers/{number_id}/templates."""
    number = await read(partial(active_number, number_id, user, ACTION))
    await _freshen(number)
    rows = await read(partial(Template.named, number, name, id_))
    if not rows:
        wanted = name if id_ is None else f"{name} with the id {id_}"
        raise NotFoundError(f"The number {number.id} has no template {wanted}.")
    async with asking(number, DELETING) as sender:
        network = offered(Templates, network_of(number))
        await network.delete_template(sender, number.waba_id, name, id_)
    await commit(partial(template_copy.remove, number, rows))
    doorbells.deliveries.ring()
    return Response(status_code=204)


async def _freshen(number: Number) -> None:
    """Read the templates from the network if the stored ones are out of date. Raises ApiError."""
    network = capable(Templates, network_of(number), number, READING)
    for _ in range(MOST_READS):
        known = await read(partial(TemplateList.of, number))
        if known is not None and not template_copy.is_due(known):
            return
        if known is None:
            known = await commit(partial(template_copy.begin, number))
        async with asking(number, READING) as sender:
            listed = await network.list_templates(sender, number.waba_id)
        if await commit(partial(template_copy.update_list, known, listed)):
            doorbells.deliveries.ring()
            return
