"""Lists, creates, edits and deletes the templates of a number's business account, and checks sends of them.

The answers show the copy (services.template_copy). If it is out of date, it is read from the network first.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from models import clock
from models.accounts.scope import present_numbers, visible
from models.database import commit, exclusively, read
from models.errors import (
    ConflictError,
    DomainError,
    InvalidError,
    NotFoundError,
    RateLimitedError,
)
from models.messages.contact import Contact
from models.messages.content import check_size
from models.messages.template import Template, TemplateList
from models.numbers.number import Number
from models.page import Page, Start
from networks.exceptions import ContentError, NotOfferedError
from networks.interface import TemplateDefinition, Templates
from networks.registry import network_of, offered
from resources.template import template_object
from services import consent, template_copy, template_reads
from services.network_failures import Asked, active_number, answer_to, asking
from services.repeating import Answer, KeyTakenError, Once, claimed

MARKETING = "MARKETING"
CREATED = 201
UNKNOWN_CATEGORY = (
    "the network showed no template of this name and language, so its category is unknown."
)
READING = Asked("read templates", "read", "so the templates could not be read. Try again.")
CREATING = Asked(
    verb="create templates",
    done="created",
    thing="template",
    unclear="so the template may have been created. List the templates before you create it again.",
)
DELETING = Asked(
    verb="delete templates",
    done="deleted",
    unclear="so the template may have been deleted. List the templates before you delete it again.",
)
EDITING = Asked(
    verb="edit templates",
    done="changed",
    thing="template",
    unclear="so the template may have been changed. List the templates before you edit it again.",
)
# How long a list rests after a read, and how much longer for each further page, which takes a call. So 6,000
# templates take 3,400 calls an hour, next to the 1,200 of services.template_reads.
REST_MS, PER_PAGE, PAGE_MS = 5_000, 100, 1_000
# A list is read again if a callback or another request changed the rows meanwhile.
MOST_READS = 3


async def list_templates(
    account_id: str, number_id: str, limit: int, start: Start, **wanted: str | None
) -> tuple[Page[Template], list[str]]:
    """The templates with these values, and the active numbers of their business account.

    An API key that is limited to numbers sees no others. Raises DomainError.
    """
    number = await _up_to_date(account_id, number_id)
    page = await read(partial(Template.search, number, limit, start, **wanted))
    return page, await _numbers_shown(number)


async def create_template(
    account_id: str, number_id: str, submitted: Mapping[str, Any]
) -> tuple[Template, list[str]]:
    """Submit a template for review. Returns it with the active numbers of its business account.

    ``submitted`` has name, language, category and components. Raises DomainError.
    """
    number = await _able_to_submit(account_id, number_id, submitted)
    template, number_ids = await _submit(number, submitted)
    return template, visible(number_ids)


async def create_template_once(submitted: Mapping[str, Any], number_id: str, once: Once) -> Answer:
    """``create_template`` for a request with an Idempotency-Key. Raises DomainError."""
    answer = await _create_once(submitted, number_id, once)
    if present_numbers.get() is None or answer.status != CREATED:
        return answer
    # The stored response is also for a repetition under another API key.
    template = orjson.loads(answer.body)
    template["numberIds"] = visible(template["numberIds"])
    return replace(answer, body=orjson.dumps(template).decode())


async def _create_once(submitted: Mapping[str, Any], number_id: str, once: Once) -> Answer:
    # Before a replay: the API key may be limited to other numbers.
    await read(partial(Number.owned, number_id, once.account_id))
    if known := await read(once.known):
        return once.replay(known, CREATING)
    try:
        number = await _able_to_submit(once.account_id, number_id, submitted)
    except DomainError:
        # Another request with the key may have created the template meanwhile.
        if known := await read(once.known):
            return once.replay(known, CREATING)
        raise
    try:
        return _created(*await _submit(number, submitted, once))
    except KeyTakenError as taken:
        return once.replay(taken.known, CREATING)


async def _able_to_submit(account_id: str, number_id: str, submitted: Mapping[str, Any]) -> Number:
    """The number, if its business account has no such template. Raises DomainError."""
    check_size(submitted["components"], "/components")
    number = await _up_to_date(account_id, number_id)
    name, language = submitted["name"], submitted["language"]
    known = await read(partial(Template.find, number, name, language))
    if known is not None and await template_reads.read_again(number, name):
        await read(partial(_refuse_known, number, name, language))
    return number


async def _submit(
    number: Number, submitted: Mapping[str, Any], once: Once | None = None
) -> tuple[Template, list[str]]:
    """Call the network. Raises DomainError, and KeyTakenError if another request has the key of ``once``."""
    async with (
        asking(Templates, number, CREATING) as (network, sender),
        claimed(once, number, CREATING),
    ):
        made = await network.create_template(sender, number.waba_id, dict(submitted))
    return await commit(partial(_add, number, made, once))


def _created(template: Template, number_ids: list[str]) -> Answer:
    return Answer(CREATED, orjson.dumps(template_object(template, number_ids)).decode())


async def _numbers_shown(number: Number) -> list[str]:
    return visible(await read(partial(template_copy.number_ids_of, number)))


@exclusively
def _add(number: Number, made: TemplateDefinition, once: Once | None) -> tuple[Template, list[str]]:
    """Store a new template, and the answer to its key."""
    template, number_ids = template_copy.add(number, made), template_copy.number_ids_of(number)
    if once is not None:
        once.answer(_created(template, number_ids))
    return template, number_ids


async def update_template(
    account_id: str, number_id: str, template_id: str, changes: Mapping[str, Any]
) -> tuple[Template, list[str]]:
    """Submit changes of a template for review. Returns it with the active numbers of its business account.

    ``changes`` have category, components, or the options of a new template. Raises DomainError.
    """
    check_size(changes.get("components", []), "/components")
    number = await _up_to_date(account_id, number_id)
    find = partial(Template.rows_of, number, network_id=template_id)
    rows = await read(find)
    if not rows and not await read(partial(_rest_ms, number)):
        await _read_list(number, await commit(partial(template_copy.begin, number)))
        rows = await read(find)
    if not rows:
        raise NotFoundError(f"The number {number.id} has no template with the id {template_id}.")
    async with asking(Templates, number, EDITING) as (network, sender):
        await network.update_template(sender, template_id, dict(changes))
    template = await commit(partial(template_copy.edit, rows[0], changes))
    return template, await _numbers_shown(number)


async def refresh_templates(account_id: str, number_id: str) -> None:
    """Read the templates from the network now.

    Raises DomainError, also if the last read is too recent, or if no read brought a current list.
    """
    number = await _with_templates(account_id, number_id)
    await read(partial(_require_rest, number))
    await commit(partial(template_copy.request_read, number))
    known = await commit(partial(template_copy.begin, number))
    last = known.read_at
    for _ in range(MOST_READS):
        # Not if it is due: the worker may have claimed the read, and be busy with it.
        if await _read_list(number, known):
            return
        known = await commit(partial(template_copy.begin, number))
        if known.read_at != last:
            return
    raise RateLimitedError(
        "The templates of this number changed while they were read, so the list may be out of date. Try again"
        f" in {REST_MS // 1000} seconds.",
        retry_after=REST_MS // 1000,
    )


def _require_rest(number: Number) -> None:
    """Raise RateLimitedError if the list was read too recently."""
    if wait_ms := _rest_ms(number):
        raise RateLimitedError(
            "The templates of this number were read moments ago. List them, or try again later.",
            retry_after=math.ceil(wait_ms / 1000),
        )


def _rest_ms(number: Number) -> int:
    """How long the list must rest before it may be read again."""
    known = TemplateList.of(number)
    if known is None or known.read_at is None:
        return 0
    pages = max(0, Template.search(number, 1, 0).total - 1) // PER_PAGE
    return max(0, known.read_at + REST_MS + pages * PAGE_MS - clock.now())


async def delete_template(
    account_id: str, number_id: str, name: str, template_id: str | None = None
) -> None:
    """Delete a template by its identifier, or without one all languages of the name. Raises DomainError."""
    number = await _up_to_date(account_id, number_id)
    find = partial(Template.rows_of, number, name=name, network_id=template_id)
    rows, is_fresh = await read(find), False
    if not rows and (is_fresh := await template_reads.read_again(number, name)):
        rows = await read(find)
    if is_fresh and not rows:
        wanted = f'"{name}"' if template_id is None else f'"{name}" with the id "{template_id}"'
        raise NotFoundError(f"The number {number.id} has no template {wanted}.")
    async with asking(Templates, number, DELETING) as (network, sender):
        await network.delete_template(sender, number.waba_id, name, template_id)
    await commit(partial(template_copy.remove, number, rows))


class CopyRefusedError(Exception):
    """The copy of a template, which may be out of date, does not allow a message. ``refusal`` says why."""

    def __init__(self, number: Number, name: str, refusal: DomainError) -> None:
        super().__init__(refusal.message)
        self.number = number
        self.name = name
        self.refusal = refusal


@contextmanager
def by_copy(number: Number, name: str) -> Iterator[None]:
    """Decide by the stored copy of a template inside. A DomainError becomes a CopyRefusedError."""
    try:
        yield
    except DomainError as refusal:
        raise CopyRefusedError(number, name, refusal) from None


def check_message(
    number: Number, contact: Contact, content: dict[str, Any], *, is_final: bool = True
) -> Template | None:
    """Check the content of a message of type template to a person, inside the caller's transaction.

    Returns the stored copy that it was checked against. The network decides on a template that is unknown,
    and unless ``is_final`` on all content. Raises InvalidError, whose ``field`` is the wrong value, or
    ConflictError if the person opted out and the template is, or may be, a marketing one.
    """
    template = _known(number, content)
    if is_final:
        _check_content(number, template, content)
    _check_consent(contact, template)
    return template


async def check_for_many(number: Number, content: dict[str, Any]) -> Template | None:
    """Check the content of messages of type template to several people.

    Returns the template, None if neither the copy nor the network could show it. Raises InvalidError.
    """
    name = content["name"]
    try:
        return await read(partial(_check_known, number, content))
    except CopyRefusedError:
        if not await template_reads.read_again(number, name):
            return await read(partial(_known, number, content))
    try:
        return await read(partial(_check_known, number, content))
    except CopyRefusedError as refused:
        raise refused.refusal from None


def _check_known(number: Number, content: dict[str, Any]) -> Template | None:
    """Check content by the copy, in which an unknown template is refused. Raises CopyRefusedError."""
    name, language = content["name"], content["language"]["code"]
    template = _known(number, content)
    with by_copy(number, name):
        if template is None and isinstance(network_of(number), Templates):
            text = (
                f'Request body, template.name: the number has no template "{name}" in {language}.'
            )
            raise InvalidError(text, field="/template/name")
        if template is not None:
            _check_content(number, template, content)
    return template


def _check_consent(contact: Contact, template: Template | None) -> None:
    if template is None:
        consent.require(contact, UNKNOWN_CATEGORY)
    elif template.category == MARKETING:
        consent.require(contact, f'"{template.name}" is a {MARKETING} template.')


def _known(number: Number, content: dict[str, Any]) -> Template | None:
    """The stored copy of a message's template. None if it is unknown."""
    if not isinstance(network_of(number), Templates):
        return None
    return Template.find(number, content["name"], content["language"]["code"])


def _check_content(number: Number, template: Template | None, content: dict[str, Any]) -> None:
    """Raise InvalidError if the copy does not allow the content."""
    network = network_of(number)
    if not isinstance(network, Templates):
        return
    try:
        if template is None:
            _require_unknown(number, content["name"], content["language"]["code"])
        else:
            network.check_template(template_copy.definition_of(template), content)
    except ContentError as error:
        text, field = f"Request body, template.{error}", f"/template{error.field}"
        raise InvalidError(text, field=field) from None


def _require_unknown(number: Number, name: str, language: str) -> None:
    """Accept an unknown template, but not an unknown language of a known one."""
    languages = Template.languages(number, name)
    known = TemplateList.of(number) if languages else None
    if known is not None and known.read_at is not None:
        listed = ", ".join(languages[:20])
        raise ContentError(
            f'language.code: the template "{name}" does not exist in {language}, only in {listed}.',
            "/language/code",
        )
    TemplateList.ask(number)


async def _with_templates(account_id: str, number_id: str) -> Number:
    """The active number, whose network has templates. Raises DomainError."""
    number = await read(partial(active_number, number_id, account_id, "manage templates"))
    try:
        offered(Templates, network_of(number))
    except NotOfferedError as error:
        raise answer_to(number, READING, error) from None
    return number


async def _up_to_date(account_id: str, number_id: str) -> Number:
    """The number, after its templates were read from the network if the stored ones were out of date."""
    number = await _with_templates(account_id, number_id)
    for _ in range(MOST_READS):
        known = await read(partial(TemplateList.of, number))
        if not template_copy.is_due(known):
            break
        if known is None:
            known = await commit(partial(template_copy.begin, number))
        if await _read_list(number, known):
            break
    return number


async def _read_list(number: Number, known: TemplateList) -> bool:
    """Read the list from the network. False if the stored rows changed meanwhile. Raises DomainError."""
    async with asking(Templates, number, READING) as (network, sender):
        listed = await network.list_templates(sender, number.waba_id)
    return await commit(partial(template_copy.update_list, known, listed))


def _refuse_known(number: Number, name: str, language: str) -> None:
    """Raise ConflictError if the business account has a template with this name and language."""
    if (known := Template.find(number, name, language)) is not None:
        raise ConflictError(
            f'The template "{known.name}" exists in {known.language} already; it is'
            f" {known.shown_status}. Choose another name, or delete it first.",
            field="/name",
        )
