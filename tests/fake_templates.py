"""A messaging network with templates, and a first template."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from models.database import database
from models.numbers.number import Number
from networks import exceptions
from networks.interface import Acceptance, OutboundMessage, Sender, TemplateDefinition
from networks.whatsapp.rules import Rules
from services import template_copy

TTL = "message_send_ttl_seconds"
BODY = {"type": "BODY", "text": "Hello {{1}}, your order {{2}} has shipped."}


def definition(
    name: str = "order_shipped",
    language: str = "en_US",
    *components: dict[str, Any],
    template_id: str = "501",
    **values: Any,
) -> TemplateDefinition:
    """A template at the network."""
    given: dict[str, Any] = {"status": "APPROVED", "category": "UTILITY"} | values
    return TemplateDefinition(
        template_id, name, language, components=list(components) or [BODY], **given
    )


def known(number: Number, *listed: TemplateDefinition) -> None:
    """The gateway has read these templates of the number's business account."""
    assert template_copy.update_list(template_copy.begin(number), list(listed))


class Network(Rules):
    """A network that lists ``templates``, records its calls, and raises ``failure`` if that is set.

    ``meanwhile`` runs during a call.
    """

    def __init__(self, *listed: TemplateDefinition) -> None:
        self.templates = list(listed)
        self.asked: list[Any] = []
        self.failure: exceptions.NetworkError | None = None
        self.meanwhile: Callable[[], None] = lambda: None

    def _ask(self, sender: Sender, what: Any) -> None:
        assert sender == Sender("1001", "token-1")
        assert not database.in_transaction(), "no transaction is held across the call"
        self.asked.append(what)
        self.meanwhile()
        if self.failure is not None:
            raise self.failure

    @property
    def sent(self) -> list[OutboundMessage]:
        """The messages."""
        return [each for each in self.asked if isinstance(each, OutboundMessage)]

    async def send(self, sender: Sender, message: OutboundMessage) -> Acceptance:
        """Accept a message."""
        self._ask(sender, message)
        return Acceptance(f"wamid.{len(self.asked)}")

    async def list_templates(self, sender: Sender, waba_id: str) -> list[TemplateDefinition]:
        """All templates."""
        found = list(self.templates)
        self._ask(sender, ("list", waba_id))
        return found

    async def find_templates(
        self, sender: Sender, waba_id: str, name: str
    ) -> list[TemplateDefinition]:
        """The templates with this name."""
        found = [each for each in self.templates if each.name == name]
        self._ask(sender, ("find", waba_id, name))
        return found

    async def create_template(
        self, sender: Sender, waba_id: str, template: dict[str, Any]
    ) -> TemplateDefinition:
        """Accept a template."""
        self._ask(sender, ("create", waba_id, template))
        names = ("name", "language", "category", "components", TTL)
        given = {name: template[name] for name in names if name in template}
        made = TemplateDefinition(id="601", status="PENDING", **given)
        self.templates.append(made)
        return made

    async def update_template(
        self, sender: Sender, template_id: str, changes: dict[str, Any]
    ) -> None:
        """Review a template again."""
        self._ask(sender, ("update", template_id, changes))
        values = {
            name: changes[name] for name in ("category", "components", TTL) if name in changes
        }
        self.templates = [
            replace(each, status="PENDING", **values) if each.id == template_id else each
            for each in self.templates
        ]

    async def delete_template(
        self, sender: Sender, waba_id: str, name: str, template_id: str | None = None
    ) -> None:
        """Delete a template."""
        self._ask(sender, ("delete", waba_id, name, template_id))
        self.templates = [
            each
            for each in self.templates
            if each.name != name or template_id not in {None, each.id}
        ]
