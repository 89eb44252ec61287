"""Stores templates as they are at the network, and emits an event for each change.

A list of templates is read from the network at its first use, every hour, and after each callback about
one of its templates. A callback with the new values changes its template at once, unless it is older than
the last read or callback, or has no time. Then it only causes a read of the list.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from models import clock
from models.accounts.audit import Audit
from models.database import exclusively, writing
from models.deliveries.delivery import Delivery
from models.messages.template import Template, TemplateList, TemplateStatus, active_numbers
from models.numbers.number import Number
from networks.exceptions import NetworkError
from networks.interface import Sender, TemplateDefinition, Templates
from networks.items import TemplateChange
from networks.registry import network_of, wait_for
from resources.template import template_object
from services import number_status
from services.number_status import JITTER, TRY_AGAIN, varied
from webhooks.kinds import EventKind

logger = logging.getLogger(__name__)

# The greatest age of a list without callbacks. See services.template_reads for the platform's limit of calls.
MAX_AGE_MS = 3_600_000
# The longest wait of a list.
LONGEST_MS = round(MAX_AGE_MS * (1 + JITTER))
# The lease of a list. An account with 6,000 templates has 60 pages.
LEASE_MS = 300_000
BACK_OFF_MS = 30_000
# The shortest time between two reads that refused sends request.
PAUSE_MS = 300_000

# The network's values, by their names in a definition and in a row.
NETWORK_VALUES = [field.name for field in fields(TemplateDefinition) if field.name != "id"]
# The columns whose changes emit an event, next to the components.
EVENT_COLUMNS = ("status", "category", "quality_score", "rejected_reason")


def read_due() -> None:
    """Read due lists from the network one after the other, at most those of a round."""
    TemplateList.recall(LONGEST_MS)
    for known in TemplateList.claim_each(LEASE_MS):
        if not _read(known):
            return


def _read(known: TemplateList) -> bool:
    """Read a claimed list. Returns False if the network is unreachable: the next ones would time out too."""
    numbers = active_numbers(known.account_id, known.waba_id)
    if not numbers or not isinstance(network := network_of(numbers[0]), Templates):
        # No number has a token to read the list. A number that is connected again requests a new list.
        with writing():
            known.forget()
        return True
    number = numbers[0]
    sender = Sender(number.phone_number_id, number.access_token)
    try:
        listed = wait_for(network.list_templates(sender, known.waba_id))
    except NetworkError as error:
        logger.warning("the templates of number %s could not be read: %s", number.id, error)
        with writing():
            known.back_off(varied(min(BACK_OFF_MS * 2 ** min(known.tries, 10), MAX_AGE_MS)))
            number_status.apply_error(number, error)
        return not isinstance(error, TRY_AGAIN)
    update_list(known, listed)
    return True


def is_due(known: TemplateList | None) -> bool:
    """Whether the list must be read from the network before the rows are shown."""
    return known is None or known.read_at is None or known.due_at <= clock.now()


def begin(number: Number) -> TemplateList:
    """The list of the number's business account, created if it is missing."""
    with writing():
        TemplateList.ask(number)
        return TemplateList.get(
            TemplateList.account == number.account_id, TemplateList.waba_id == number.waba_id
        )


def update_list(seen: TemplateList, listed: Sequence[TemplateDefinition]) -> bool:
    """Change the rows to the network's list, with an event for each change.

    The first list emits no events, because nothing changed. Returns False if the rows changed since
    ``seen`` was read, because the list is then out of date.
    """
    with writing():
        if not seen.settle(clock.now() + varied(MAX_AGE_MS)):
            return False
        _replace(seen, Template.rows_of(seen), listed, is_first=seen.read_at is None)
    return True


def versions_of(number: Number, name: str) -> list[tuple[str, int, int]]:
    """What changes with each change of the templates with this name."""
    rows = Template.rows_of(number, name=name)
    return [(row.network_id, row.changed_at, row.updated_at) for row in rows]


@exclusively
def update_named(
    number: Number,
    name: str,
    seen: Sequence[tuple[str, int, int]],
    listed: Sequence[TemplateDefinition],
) -> bool:
    """Like ``update_list``, for all templates with this name. ``seen`` are their versions before the read.

    If one is different, others may be too, so a read of the list is requested.
    """
    if versions_of(number, name) != seen:
        return False
    known = TemplateList.of(number)
    is_first = known is None or known.read_at is None
    _replace(number, Template.rows_of(number, name=name), listed, is_first=is_first)
    if versions_of(number, name) != seen:
        TemplateList.touch(number.account_id, number.waba_id)
    return True


def _replace(
    business: Number | TemplateList,
    rows: Iterable[Template],
    listed: Iterable[TemplateDefinition],
    *,
    is_first: bool,
) -> None:
    """Change these rows to those at the network. New ones emit an event, except those of a first list."""
    left, numbers = {row.network_id: row for row in rows}, number_ids_of(business)
    for definition in listed:
        if (row := left.pop(definition.id, None)) is not None:
            _change(row, numbers, **_values(definition))
            continue
        made = _create(business.account_id, business.waba_id, definition)
        if not is_first:
            _emit(made, numbers)
    _remove(left.values(), numbers)


@exclusively
def request_read(number: Number) -> None:
    """Request a read of the list now."""
    TemplateList.touch(number.account_id, number.waba_id)


def note_difference(number: Number) -> None:
    """Request a read of the list after the network refused a send because of its template.

    A flood of such refusals costs a query each, and one read in PAUSE_MS.
    """
    known = TemplateList.of(number)
    if known is None or known.read_at is None or known.tries:
        # It is not read yet, or it is being read.
        return
    soon = max(clock.now(), known.read_at + PAUSE_MS)
    if soon < known.due_at:
        with writing():
            known.advance(soon)


@exclusively
def add(number: Number, definition: TemplateDefinition) -> Template:
    """Store a template that was created through the gateway, and emit its event."""
    TemplateList.ask(number)
    TemplateList.touch(number.account_id, number.waba_id)
    # A concurrent read of the list may have stored it already.
    known = Template.rows_of(number, name=definition.name, network_id=definition.id)
    made = known[0] if known else _create(number.account_id, number.waba_id, definition)
    if not known:
        _emit(made, number_ids_of(made))
    Audit.record(made.account_id, "template.created", made.network_id, after=_described(made))
    return made


@exclusively
def edit(row: Template, changes: Mapping[str, Any]) -> Template:
    """Store what was submitted for a template, and request a read of the list.

    The network reviews a new category and new components.
    """
    TemplateList.touch(row.account_id, row.waba_id)
    before, fresh = _described(row), Template.by_id(row.id) or row
    values = {name: changes[name] for name in NETWORK_VALUES if name in changes}
    if values.keys() & {"category", "components"}:
        values["status"] = TemplateStatus.PENDING
    _change(fresh, number_ids_of(fresh), **values)
    after = _described(fresh) | {"submitted": ", ".join(sorted(changes))}
    Audit.record(fresh.account_id, "template.changed", fresh.network_id, before=before, after=after)
    return fresh


@exclusively
def remove(number: Number, rows: Sequence[Template]) -> None:
    """Remove templates that were deleted through the gateway, and emit events with the status DELETED."""
    TemplateList.touch(number.account_id, number.waba_id)
    _remove(rows, number_ids_of(number))
    for row in rows:
        Audit.record(row.account_id, "template.deleted", row.network_id, before=_described(row))


def _described(row: Template) -> dict[str, str | None]:
    return {name: getattr(row, name) for name in ("name", "language", "category")}


def apply_change(waba_id: str, change: TemplateChange, at: int) -> None:
    """Apply a callback about a template, in the caller's transaction. ``at`` is 0 if unknown."""
    with writing():
        for known in list(TemplateList.select().where(TemplateList.waba_id == waba_id)):
            TemplateList.touch(known.account_id, known.waba_id)
            for row in Template.rows_of(known, network_id=change.template_id):
                if at >= max(row.changed_at, known.read_at or 0):
                    _apply(row, change.values, at or clock.now())


def _apply(row: Template, changes: dict[str, str | None], at: int) -> None:
    Template.update(changed_at=at).where(Template.id == row.id).execute()
    numbers = number_ids_of(row)
    if changes.get("status") == TemplateStatus.DELETED:
        _remove([row], numbers, at)
    elif changes:
        _change(row, numbers, at, **changes)


def _values(definition: TemplateDefinition) -> dict[str, Any]:
    return {name: getattr(definition, name) for name in NETWORK_VALUES}


def definition_of(row: Template) -> TemplateDefinition:
    return TemplateDefinition(
        row.network_id, **{name: getattr(row, name) for name in NETWORK_VALUES}
    )


def _create(account_id: str, waba_id: str, definition: TemplateDefinition) -> Template:
    values = _values(definition)
    return Template.create(
        id=clock.new_id("tpl"),
        account=account_id,
        waba_id=waba_id,
        network_id=definition.id,
        components_json=_encoded(values.pop("components")),
        changed_at=0,
        updated_at=clock.now(),
        **values,
    )


def _change(row: Template, numbers: Sequence[str], at: int | None = None, **values: Any) -> None:
    """Store changed values. EVENT_COLUMNS and components other than examples emit one event."""
    if "components" in values:
        values["components_json"] = _encoded(values.pop("components"))
    changes = {name: value for name, value in values.items() if getattr(row, name) != value}
    if not changes:
        return
    has_event = any(name in changes for name in EVENT_COLUMNS)
    if "components_json" in changes:
        after = json.loads(changes["components_json"])
        has_event |= _without_examples(row.components) != _without_examples(after)
    if has_event:
        changes["updated_at"] = _next_moment(row)
    row.amend(**changes)
    if has_event:
        _emit(row, numbers, at)


def _next_moment(row: Template) -> int:
    """Now, but later than the previous change, so that a receiver can order the two."""
    return max(clock.now(), row.updated_at + 1)


def _without_examples(part: Any) -> Any:
    """Components without examples, because the platform changes the addresses of example files each time."""
    if isinstance(part, list):
        return [_without_examples(each) for each in part]
    if isinstance(part, dict):
        return {n: _without_examples(each) for n, each in part.items() if n != "example"}
    return part


def _remove(rows: Iterable[Template], numbers: Sequence[str], at: int | None = None) -> None:
    for row in rows:
        Template.delete().where(Template.id == row.id).execute()
        row.updated_at = _next_moment(row)
        _emit(row, numbers, at, TemplateStatus.DELETED)


def _emit(
    row: Template, numbers: Sequence[str], at: int | None = None, status: str | None = None
) -> None:
    # An account without an active number cannot use the templates and gets no event.
    if numbers:
        kind = EventKind.TEMPLATE_UPDATED
        data = template_object(row, numbers, status)
        Delivery.emit(
            row.account_id, kind, data, subject_id=row.network_id, number_ids=numbers, at=at
        )


def number_ids_of(row: Number | Template | TemplateList) -> list[str]:
    """The active numbers of a business account, the oldest first."""
    return [each.id for each in active_numbers(row.account_id, row.waba_id)]


def _encoded(components: list[Any]) -> str:
    # Sorted, so that another order of the keys is no change.
    return json.dumps(components, sort_keys=True)
