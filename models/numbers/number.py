"""Numbers: connected phone numbers and their lifecycle.

The work for later of a number is its next check, at ``due_at`` (services.number_status).
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import partial, reduce
from operator import or_
from typing import Any, Self, cast

from peewee import (
    SQL,
    BigAutoField,
    BigIntegerField,
    ForeignKeyField,
    IntegerField,
    IntegrityError,
    TextField,
    fn,
)

from models import clock
from models.accounts import secret
from models.accounts.account import Owned, no_access
from models.accounts.scope import present_numbers, require_number
from models.database import BaseModel, Prepared, database, exclusively, fetch, is_in, reading
from models.decoded import Decoded
from models.page import Page, Start, fetch_page
from models.work import Work

# Of the gateway's identifiers.
KIND, PREFIX = "num", "num_"
# How long a signup may work on a number. After that its process counts as dead, because all its requests
# to the network would have timed out.
PROVISIONING_LIFETIME_MS = 15 * 60_000


class NumberStatus(StrEnum):
    PROVISIONING = "PROVISIONING"
    ACTIVE = "ACTIVE"
    DISCONNECTED = "DISCONNECTED"
    BANNED = "BANNED"


class ProblemCode(StrEnum):
    """What may be wrong with the callbacks about a number (openapi.yaml, NumberProblemCode)."""

    NOT_SUBSCRIBED = "not_subscribed"
    ELSEWHERE = "callbacks_elsewhere"
    FIELDS = "fields_missing"
    SILENT = "no_callbacks"


CONNECTED = (NumberStatus.ACTIVE, NumberStatus.BANNED)


class NumberTakenError(Exception):
    """The phone number is connected to another account."""


class Number(Owned, Work):
    """A phone number of an account, known to its network as ``phone_number_id``."""

    # Its name in networks.registry. The default is also that of the column: an earlier version names none.
    network = TextField(default="whatsapp", constraints=[SQL("DEFAULT 'whatsapp'")])
    phone_number_id = TextField(index=True)
    waba_id = TextField(index=True)
    phone_number = TextField()
    display_name = TextField(null=True)
    status = TextField()
    # The network's token for this number, and the two-step PIN that it was registered with.
    sealed_token = secret.SealedField()
    access_token = Decoded(secret.decrypt, "sealed_token")
    sealed_pin = secret.SealedField()
    pin = Decoded(secret.decrypt, "sealed_pin")
    created_at = BigIntegerField()
    activated_at = BigIntegerField(null=True)
    due_at = BigIntegerField(null=True, index=True, column_name="check_due_at")
    # Claims of its check since the last one with a result.
    tries = IntegerField(default=0, column_name="check_tries")
    # When the last check that found a status asked the network.
    confirmed_at = BigIntegerField(null=True)
    # How often news requested a check.
    doubts = IntegerField(default=0, constraints=[SQL("DEFAULT 0")])
    # The latest values from the network, unchanged.
    quality_rating = TextField(null=True)
    messaging_limit = TextField(null=True)
    throughput = TextField(null=True)
    # What the last check found wrong with its callbacks: objects with ``code`` and ``detail``.
    problems_json = TextField(default="[]", constraints=[SQL("DEFAULT '[]'")])
    problems: Decoded[list[dict[str, Any]]] = Decoded(json.loads, "problems_json")
    # The reason why the number is disconnected, or will be.
    reason = TextField(null=True)
    # The latest notice about it: field, event, description, at.
    notice_json = TextField(null=True)
    notice = Decoded(json.loads, "notice_json")

    class Meta:
        indexes = ((("account", "phone_number_id"), True),)

    @property
    def connection(self) -> tuple[Any, ...]:
        """What a new signup changes: a call of before may have failed because of it."""
        return self.activated_at, self.phone_number_id, self.sealed_token

    @classmethod
    @exclusively
    def provision(
        cls,
        account_id: str,
        *,
        phone_number_id: str,
        waba_id: str,
        phone_number: str,
        display_name: str | None,
        access_token: str,
        pin: str,
        network: str = "whatsapp",
    ) -> Self:
        """Begin to connect a number. Returns the account's one with this phone number or identifier if any.

        It stays as it is until ``adopt``. Raises NumberTakenError when another account has it connected.
        """
        cls.refuse_if_taken(account_id, phone_number_id)
        known = cls.with_phone(account_id, phone_number) or cls.get_or_none(
            cls.account == account_id, cls.phone_number_id == phone_number_id
        )
        return known or cls.create(
            id=clock.new_id(KIND),
            account=account_id,
            network=network,
            phone_number_id=phone_number_id,
            waba_id=waba_id,
            phone_number=phone_number,
            display_name=display_name,
            status=NumberStatus.PROVISIONING,
            sealed_token=secret.encrypt(access_token),
            sealed_pin=secret.encrypt(pin),
            created_at=clock.now(),
        )

    @classmethod
    def with_phone(cls, account_id: str, phone_number: str) -> Self | None:
        """The account's number with this phone number. None also if it is unknown, and so empty."""
        is_it = (cls.account == account_id) & (cls.phone_number == phone_number)
        return cls.get_or_none(is_it) if phone_number else None

    def adopt(self, phone_number_id: str, waba_id: str, access_token: str, **shown: Any) -> None:
        """Store what a complete signup found, in the caller's transaction, and void a running check.

        ``shown`` are ``network``, ``phone_number`` and ``display_name``. The former identifier stays known.

        Raises NumberTakenError when another account connected the number in the meantime.
        """
        if phone_number_id != self.phone_number_id:
            NumberAlias.note(self, self.phone_number_id, self.activated_at)
        ids = {"phone_number_id": phone_number_id, "waba_id": waba_id}
        sealed_token = secret.encrypt(access_token)
        try:
            with database.atomic():
                self.assign(ids | shown | {"sealed_token": sealed_token, "due_at": clock.now()})
        except IntegrityError:
            raise NumberTakenError(phone_number_id) from None

    @classmethod
    def replaced_by(cls, number: Self, phone_number_id: str) -> Self | None:
        """Another number of the account that had this identifier, which its phone number lost."""
        is_other = (cls.account == number.account_id) & (cls.id != number.id)
        other = cls.get_or_none(is_other, cls.phone_number_id == phone_number_id)
        if other is not None:
            # Identifiers are unique within an account.
            other.assign({"phone_number_id": other.id})
        return other

    @classmethod
    def known(cls, number_ids: Iterable[str]) -> dict[str, Self]:
        """The numbers with these identifiers, the former ones of merged numbers included."""
        wanted = list(number_ids)
        found = cls.by_ids(wanted)
        with reading():
            for number_id in set(wanted) - found.keys():
                if (number := cls._merged(number_id)) is not None:
                    found[number_id] = number
        return found

    def elsewhere(self) -> list[Self]:
        """The numbers of other accounts with its phone number."""
        is_other = Number.account != self.account_id
        return fetch(type(self).select().where(is_other, Number.phone_number == self.phone_number))

    @classmethod
    def owned(cls, number_id: str, account_id: str, field: str | None = None) -> Self:
        """Like accounts.account.owned(): the number, or the one that it was merged into."""
        found = cls.find(number_id)
        if found is None or found.account_id != account_id:
            raise no_access("number", number_id, exists=found is not None, field=field)
        require_number(found.id, field)
        return found

    @classmethod
    def page(cls, account_id: str, limit: int, start: Start) -> Page[Self]:
        """The account's numbers, newest first, of those that the key of the request is limited to."""
        query, allowed = cls.select().where(cls.account == account_id), present_numbers.get()
        if allowed is not None:
            query = query.where(cls.id.in_(list(allowed)))
        return fetch_page(query, limit, start)

    @classmethod
    def find(cls, number_id: str) -> Self | None:
        """The number with this identifier of the gateway, or the one that it was merged into."""
        return cls.by_id(number_id) or cls._merged(number_id)

    @classmethod
    def _merged(cls, number_id: str) -> Self | None:
        # The network's former identifiers are none of the gateway.
        return _former.first(number_id, 0) if number_id.startswith(PREFIX) else None

    @classmethod
    def ids_of(cls, account_id: str) -> dict[str, str]:
        """The account's present identifiers by all of the gateway, those of merged numbers included."""
        present = [number.id for number in cls.all(account_id)]
        rows = fetch(NumberAlias.select().where(NumberAlias.number.in_(present)))
        merged = {row.former: row.number_id for row in rows if row.former.startswith(PREFIX)}
        return merged | {number_id: number_id for number_id in present}

    @classmethod
    def refuse_if_taken(cls, account_id: str, phone_number_id: str) -> None:
        """Raise NumberTakenError when another account has the number connected."""
        cls.abandon_dead()
        number = _connected_first.first(phone_number_id)
        if number is None or number.status == NumberStatus.DISCONNECTED:
            return
        if number.account_id != account_id:
            raise NumberTakenError(phone_number_id)

    @classmethod
    def find_connected(cls, phone_number_id: str) -> "Number | None":
        """The number with the network's identifier: the connected one, otherwise the last one that was.

        A former identifier counts if no connected number has it, and none that was activated with it later.
        """
        number = _connected_first.first(phone_number_id)
        if number is not None and number.status != NumberStatus.DISCONNECTED:
            return cast("Number", number)
        return _former.first(phone_number_id, (number and number.activated_at) or 0) or number

    @classmethod
    def abandon_dead(cls) -> None:
        """Release numbers whose signup died, so that other accounts can connect them."""
        # Only new rows are ever PROVISIONING.
        before = clock.certain() - PROVISIONING_LIFETIME_MS
        is_dead = (cls.status == NumberStatus.PROVISIONING) & (cls.created_at < before)
        for number in fetch(cls.select().where(is_dead)):
            number.abandon()

    @exclusively
    def abandon(self) -> None:
        """Release a number whose signup failed, so that other accounts can connect it."""
        Number.update(status=NumberStatus.DISCONNECTED).where(
            Number.id == self.id, Number.status == NumberStatus.PROVISIONING
        ).execute()

    @classmethod
    def problem_counts(cls) -> dict[str, int]:
        """The number of active numbers with each ProblemCode."""
        is_it = (cls.status == NumberStatus.ACTIVE) & (cls.problems_json != "[]")
        rows = fetch(cls.select(cls.problems_json).where(is_it))
        counts = Counter(problem["code"] for row in rows for problem in row.problems)
        return dict.fromkeys(map(str, ProblemCode), 0) | dict(counts)

    def update_details(self, **news: str | None) -> bool:
        """Store values from the network, inside the caller's transaction. Returns whether one is new.

        A value of None is unknown and changes nothing.
        """
        known = {getattr(Number, name): value for name, value in news.items() if value is not None}
        if not known:
            return False
        is_new = reduce(or_, (field.is_null() | (field != value) for field, value in known.items()))
        return self._change(known, is_new)

    def move_to(
        self, status: NumberStatus, due_at: int | None = None, reason: str | None = None
    ) -> bool:
        """Change the status inside the caller's transaction. Returns whether it was another one.

        Without a ``reason`` the known one stays, unless the number is ACTIVE again.

        Raises NumberTakenError when another account connected the number in the meantime.
        """
        # A running check read the previous status. The new time makes its result void.
        changes: dict[str, str | int | None] = {"status": status, "due_at": due_at}
        if status == NumberStatus.ACTIVE:
            changes |= {"activated_at": clock.now(), "reason": None}
        elif reason is not None:
            changes["reason"] = reason
        try:
            # A savepoint, because PostgreSQL refuses further statements after an error in a transaction.
            with database.atomic():
                return self._change(changes, Number.status != status)
        except IntegrityError:
            raise NumberTakenError(self.phone_number_id) from None

    def _change(self, changes: Mapping[Any, Any], condition: Any) -> bool:
        """Change these columns if the row meets the condition. Returns whether it did."""
        changed = Number.update(changes).where(Number.id == self.id, condition).execute()
        if changed:
            self.__data__.update(Number.get_by_id(self.id).__data__)
        return bool(changed)


# Only one account may have a number connected. The index enforces it between two checks.
Number.add_index(
    Number.phone_number_id,
    unique=True,
    where=SQL("status <> 'DISCONNECTED'"),
    name="number_connected_once",
)


# One phone number is one number of an account, also under new identifiers of the network.
Number.add_index(
    Number.account,
    Number.phone_number,
    unique=True,
    where=SQL("phone_number <> ''"),
    name="number_phone",
)


class NumberAlias(BaseModel):
    """A former identifier of a number: the network's, or the gateway's of one that was merged into it.

    Late callbacks and clients may still use it.
    """

    number_id: str
    id = BigAutoField()
    number = ForeignKeyField(Number, lazy_load=False, on_delete="CASCADE", index=False)
    former = TextField(index=True)
    # When the number was last activated with it, 0 if never.
    activated_at = BigIntegerField()

    class Meta:
        indexes = ((("number", "former"), True),)

    @classmethod
    def note(cls, number: Number, former: str, activated_at: int | None) -> None:
        """Store a former identifier, inside the caller's transaction. It may have had it before."""
        row = cls.insert(number=number.id, former=former, activated_at=activated_at or 0)
        row.on_conflict(
            conflict_target=[cls.number, cls.former], preserve=[cls.activated_at]
        ).execute()


@Prepared
def identifiers(phone_number_ids: Any) -> Any:
    """The network's and the gateway's identifiers of these numbers, also by former ones of the network."""
    present = Number.select(Number.phone_number_id, Number.id)
    former = NumberAlias.select(NumberAlias.former, NumberAlias.number)
    return present.where(is_in(Number.phone_number_id, phone_number_ids)) + former.where(
        is_in(NumberAlias.former, phone_number_ids)
    )


@partial(Prepared, model=Number)
def _connected_first(phone_number_id: Any) -> Any:
    rows = Number.select().where(Number.phone_number_id == phone_number_id).limit(1)
    latest = fn.COALESCE(Number.activated_at, 0).desc(), Number.id.desc()
    return rows.order_by(Number.status == NumberStatus.DISCONNECTED, *latest)


@partial(Prepared, model=Number)
def _former(former: Any, since: Any) -> Any:
    is_it = (NumberAlias.former == former) & (NumberAlias.activated_at >= since)
    rows = Number.select().join(NumberAlias).where(is_it).limit(1)
    return rows.order_by(NumberAlias.activated_at.desc(), Number.id.desc())
