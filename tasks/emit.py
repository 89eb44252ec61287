"""Emitting events: from a row to the event and its deliveries, in the caller's transaction.

After the transaction is committed the caller calls tasks.deliver.bell.ring().
"""

from collections.abc import Iterable, Sequence
from typing import Any

from models import clock
from models.delivery import Delivery
from models.event import Event
from models.message import Message
from models.number import Number
from models.template import Template
from models.webhook import Webhook
from networks.error_codes import explained
from webhooks.envelope import (
    MessageError,
    MessageResource,
    NumberResource,
    TemplateResource,
    envelope,
)
from webhooks.kinds import EventKind


def message_resource(message: Message, error: tuple[str, str] | None = None) -> MessageResource:
    """The contract's Message object of a row. ``error`` is shown in place of the row's own."""
    shown = error or message.error
    members = _members(MessageResource, message) | {
        "error": MessageError(shown[0], explained(*shown)) if shown else None
    }
    return MessageResource(**members)


def number_resource(number: Number) -> NumberResource:
    return NumberResource(**_members(NumberResource, number))


def template_resource(
    template: Template, number_ids: Sequence[str], status: str | None = None
) -> TemplateResource:
    """The contract's Template object of a row. ``status`` is shown in place of the row's own."""
    return TemplateResource(
        id=template.network_id,
        number_ids=list(number_ids),
        name=template.name,
        language=template.language,
        status=status or template.shown_status,
        category=template.category,
        components=template.components,
        parameter_format=template.parameter_format,
        quality_score=template.quality_score,
        rejected_reason=template.rejected_reason,
        updated_at=template.updated_at,
    )


def _members(resource: type[Any], row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in resource.__match_args__}


def emit_message(
    kind: EventKind,
    message: Message,
    at: int | None = None,
    error: tuple[str, str] | None = None,
    webhooks: Iterable[Webhook] | None = None,
) -> None:
    """Emit ``message.*``, at most once for each message and kind.

    ``error`` is shown in place of the message's own, which has none when it was delivered after all.
    ``webhooks`` are those of its account, where the caller has read them in this transaction.
    """
    if webhooks is None:
        webhooks = Webhook.rows_of(message.account_id)
    event = Event.append(
        message.account_id,
        kind,
        number_id=message.number_id,
        subject_id=message.id,
        payload=envelope(kind, at or clock.now(), message_resource(message, error)),
        once=True,
    )
    Delivery.schedule(event, webhooks)


def emit_number(kind: EventKind, number: Number) -> None:
    """Emit ``number.*``, once for each transition."""
    webhooks = Webhook.rows_of(number.account_id)
    event = Event.append(
        number.account_id,
        kind,
        number_id=number.id,
        subject_id=number.id,
        payload=envelope(kind, clock.now(), number_resource(number)),
        once=False,
    )
    Delivery.schedule(event, webhooks)


def emit_template(
    template: Template, number_ids: Sequence[str], at: int | None = None, status: str | None = None
) -> None:
    """Emit ``template.updated``, once for each change.

    It goes to the webhooks of any of ``number_ids``, the active numbers of its business account.
    """
    kind = EventKind.TEMPLATE_UPDATED
    resource = template_resource(template, number_ids, status)
    event = Event.append(
        template.account_id,
        kind,
        number_id=number_ids[0],
        subject_id=template.network_id,
        payload=envelope(kind, at or clock.now(), resource),
        once=False,
    )
    Delivery.schedule(event, Webhook.rows_of(template.account_id), number_ids)
