"""Message templates of business accounts, as last read from the messaging network.

Each account of the gateway has its own rows for a business account, read with the token of one of its
numbers. TemplateList has the time of the last read. services.template_copy keeps the rows fresh.
"""

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Self

from peewee import SQL, BigIntegerField, IntegerField, ModelSelect, TextField

from models import clock
from models.accounts.account import Owned
from models.database import Prepared, fetch, matching
from models.long_text import LongText
from models.numbers.number import Number, NumberStatus
from models.page import Page, Start, fetch_page
from models.work import Work

# As a literal, because SQLite uses a partial index only for a condition it can read.
IS_REJECTED = SQL("status = 'REJECTED'")


class TemplateStatus(StrEnum):
    """The status of a template (openapi.yaml, TemplateStatus). Other values of the network become UNKNOWN."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"
    PAUSED = "PAUSED"
    DISABLED = "DISABLED"
    IN_APPEAL = "IN_APPEAL"
    PENDING_DELETION = "PENDING_DELETION"
    DELETED = "DELETED"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    ARCHIVED = "ARCHIVED"
    FLAGGED = "FLAGGED"
    UNKNOWN = "UNKNOWN"


class TemplateList(Owned, Work):
    """The state of the copy of a business account's templates.

    ``read_at`` is the time of the last complete read, None for never. ``due_at`` is the time of the next
    read. ``version`` changes with each change of the rows, so that an older response is recognized.
    ``tries`` counts the claims since the last response.
    """

    waba_id = TextField()
    read_at = BigIntegerField(null=True)
    due_at = BigIntegerField(index=True)
    tries = IntegerField(default=0)
    version = IntegerField(default=0)

    class Meta:
        indexes = ((("waba_id", "account"), True),)

    @classmethod
    def of(cls, number: Number) -> Self | None:
        """The list of the number's business account, None if it was never requested."""
        return _LIST.first(number.account_id, number.waba_id)

    @classmethod
    def ask(cls, number: Number) -> None:
        """Schedule the first read, inside the caller's transaction."""
        _ASK.execute(clock.new_id("tls"), number.account_id, number.waba_id, clock.now())

    @classmethod
    def touch(cls, account_id: str, waba_id: str) -> None:
        """Schedule a read for now, inside the caller's transaction. Responses in flight become void."""
        touched = cls.update(due_at=clock.now(), tries=0, version=cls.version + 1)
        touched.where(cls.account == account_id, cls.waba_id == waba_id).execute()

    def settle(self, due_at: int) -> bool:
        """Record a response, inside the caller's transaction. False if the rows changed in the meantime."""
        cls = type(self)
        changes = {"read_at": clock.now(), "due_at": due_at, "tries": 0, "version": cls.version + 1}
        is_same = (cls.id == self.id) & (cls.version == self.version)
        return bool(cls.update(changes).where(is_same).execute())

    def advance(self, due_at: int) -> None:
        """Schedule its read earlier, unless it is being read, inside the caller's transaction."""
        cls = type(self)
        is_idle = (cls.id == self.id) & (cls.tries == 0) & (cls.due_at > due_at)
        cls.update(due_at=due_at).where(is_idle).execute()

    def forget(self) -> None:
        """Delete it with its templates, inside the caller's transaction."""
        is_theirs = (Template.account == self.account_id) & (Template.waba_id == self.waba_id)
        Template.delete().where(is_theirs).execute()
        self.delete_instance()


class Template(Owned):
    """One template in one language. ``network_id`` is the network's identifier, which the API shows.

    ``changed_at`` is the time of the network's last callback about it, or 0.
    """

    waba_id = TextField()
    network_id = TextField()
    name = TextField()
    language = TextField()
    status = TextField()
    category = TextField()
    components_json = TextField()
    parameter_format = TextField(null=True)
    quality_score = TextField(null=True)
    rejected_reason = TextField(null=True)
    message_send_ttl_seconds = IntegerField(null=True)
    changed_at = BigIntegerField(default=0, column_name="told_at")
    updated_at = BigIntegerField()

    class Meta:
        indexes = (
            (("account", "waba_id", "network_id"), True),
            (("account", "waba_id", "name", "language"), False),
        )

    @property
    def components(self) -> list[Any]:
        """Its components in the network's format."""
        return list(json.loads(COMPONENTS.of(self) or "[]"))

    def part(self, kind: str) -> dict[str, Any]:
        """The component of this type, or an empty one."""
        parts = (part for part in self.components if isinstance(part, dict))
        return next((part for part in parts if str(part.get("type", "")).upper() == kind), {})

    @property
    def version(self) -> dict[str, str]:
        """Its identifiers for the log, with the version that the API shows."""
        changed = clock.timestamp(self.updated_at)
        return {"template_id": self.network_id, "template_updated_at": changed}

    @property
    def shown_status(self) -> str:
        """The status in the contract's enum."""
        known = self.status in TemplateStatus.__members__
        return self.status if known else TemplateStatus.UNKNOWN

    @classmethod
    def find(cls, number: Number, name: str, language: str) -> "Template | None":
        """The template of a send from the number, inside the caller's transaction."""
        return _EXACT.first(number.account_id, number.waba_id, name, language)

    @classmethod
    def languages(cls, number: Number, name: str) -> list[str]:
        """The known languages of a template."""
        return [row.language for row in fetch(cls._having(number, name=name).select(cls.language))]

    @classmethod
    def in_states(cls, account_id: str, statuses: Sequence[str]) -> list[Self]:
        """The account's templates with one of these statuses, by name and language."""
        query = cls.select().where(cls.account == account_id, cls.status.in_(statuses))
        return fetch(query.order_by(cls.name, cls.language))

    @classmethod
    def all_languages(cls, account_id: str) -> list[str]:
        """The languages of the account's templates."""
        rows = cls.select(cls.language).where(cls.account == account_id).distinct()
        return [row.language for row in fetch(rows)]

    @classmethod
    def rows_of(cls, business: Number | TemplateList, **wanted: str | None) -> list[Self]:
        """The templates of a business account with these values, by name and language."""
        return fetch(cls._having(business, **wanted))

    @classmethod
    def search(cls, number: Number, limit: int, start: Start, **wanted: str | None) -> Page[Self]:
        """A page of the rows that ``rows_of`` finds, without long components."""
        query = cls._having(number, **wanted).select(*COMPONENTS.columns)
        key = {"name": cls.name, "language": cls.language, "id": cls.id}
        return fetch_page(query, limit, start, key=key, is_ascending=True)

    @classmethod
    def _having(cls, business: Number | TemplateList, **wanted: str | None) -> "ModelSelect[Self]":
        values = {"account": business.account_id, "waba_id": business.waba_id, **wanted}
        known = [getattr(cls, name) == value for name, value in values.items() if value is not None]
        return cls.select().where(*known).order_by(cls.name, cls.language, cls.id)


Template.add_index(Template.account, where=IS_REJECTED, name="template_rejected")


def active_numbers(account_id: str, waba_id: str) -> list[Number]:
    """The account's active numbers of a business account, the oldest first."""
    is_ours = (Number.account == account_id) & (Number.waba_id == waba_id)
    query = Number.select().where(is_ours, Number.status == NumberStatus.ACTIVE)
    return fetch(query.order_by(Number.id))


COMPONENTS = LongText(Template.components_json)
_LIST = matching(TemplateList, "account", "waba_id")
_ASK = Prepared(
    lambda row_id, account_id, waba_id, now: TemplateList.insert(
        id=row_id, account=account_id, waba_id=waba_id, due_at=now
    ).on_conflict_ignore()
)
_EXACT = matching(Template, "account", "waba_id", "name", "language")
