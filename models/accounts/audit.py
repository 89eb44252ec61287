"""The audit log: who changed what in an account, when, from where, and what it was before.

The code that makes a change writes its row, in the same transaction. A row has the actor's name of its time,
so that it stays true when a user is removed. No row has a secret, or the data of a person: only identifiers.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Self

from peewee import BigIntegerField, Case, ForeignKeyField, ModelSelect, TextField, fn

from models import clock
from models.accounts.account import Account, Owned
from models.accounts.actor import Actor, ActorKind, present_actor
from models.database import writing

PREFIX = "aud"
Values = Mapping[str, Any]


class Audit(Owned):
    """One change. ``subject`` is the identifier of what was changed."""

    account = ForeignKeyField(Account, lazy_load=False, index=False)
    at = BigIntegerField()
    # None in rows of 1.0.0, which knows users and operators.
    kind = TextField(null=True)
    actor_id = TextField(null=True, column_name="user_id")
    name = TextField(column_name="who")
    address = TextField()
    action = TextField()
    subject = TextField(null=True)
    before_json = TextField(null=True)
    # In rows of 1.0.0 any details.
    after_json = TextField(column_name="detail_json")

    class Meta:
        indexes = ((("account", "id"), False),)

    @property
    def actor(self) -> Actor:
        known = ActorKind.OPERATOR if self.actor_id is None else ActorKind.USER
        return Actor(ActorKind(self.kind or known), self.actor_id, self.name, self.address)

    @property
    def before(self) -> dict[str, Any]:
        """The changed values as they were. Empty for what is new."""
        return dict(json.loads(self.before_json or "{}"))

    @property
    def after(self) -> dict[str, Any]:
        """The changed values as they are now. Empty for what was removed."""
        return dict(json.loads(self.after_json))

    @classmethod
    def record(
        cls,
        account_id: str,
        action: str,
        subject: str | None = None,
        *,
        before: Values | None = None,
        after: Values | None = None,
        by: Actor | None = None,
    ) -> None:
        """Write a row in the caller's transaction. Of two states it has the values that differ.

        Two equal states are no change and have no row. ``by`` is by default the present actor.
        """
        if before and after:
            names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            if not names:
                return
            before, after = ({n: state.get(n) for n in names} for state in (before, after))
        with writing():
            cls.create(
                before_json=json.dumps(before) if before else None,
                after_json=json.dumps(after or {}),
                **cls._values(account_id, action, subject, by or present_actor.get()),
            )

    @classmethod
    def record_each(cls, whose: Iterable[tuple[str, Actor, str]], action: str) -> None:
        """Write a row for each account, actor and subject: what happened to a person with several users.

        It is one statement for any number of accounts, which the time that it takes does not reveal.
        """
        rows = [
            cls._values(account_id, action, subject, actor) | {"after_json": "{}"}
            for account_id, actor, subject in whose
        ]
        with writing():
            cls.insert_many(rows).execute()

    @staticmethod
    def _values(account_id: str, action: str, subject: str | None, actor: Actor) -> dict[str, Any]:
        return {
            "id": clock.new_id(PREFIX),
            "account": account_id,
            "at": clock.now(),
            "kind": actor.kind,
            "actor_id": actor.id,
            "name": actor.name,
            "address": actor.address,
            "action": action,
            "subject": subject,
        }

    @classmethod
    def search(
        cls,
        account_id: str,
        *,
        actor: str | None = None,
        action: str | None = None,
        subject: str | None = None,
        since: int | None = None,
        until: int | None = None,
    ) -> "ModelSelect[Self]":
        """The query for the account's rows that match, newest first.

        ``actor`` is an identifier, a name or a kind. ``until`` is exclusive, in ms.
        """
        wanted = [cls.account == account_id]
        if actor:
            # Like ``actor`` of a row.
            known = Case(None, [(cls.actor_id.is_null(), ActorKind.OPERATOR)], ActorKind.USER)
            is_kind = fn.COALESCE(cls.kind, known) == actor
            wanted.append((cls.actor_id == actor) | (cls.name == actor) | is_kind)
        wanted += [cls.action == action] if action else []
        wanted += [cls.subject == subject] if subject else []
        wanted += [cls.id >= clock.id_bound(PREFIX, since)] if since is not None else []
        wanted += [cls.id < clock.id_bound(PREFIX, until)] if until is not None else []
        return cls.select().where(*wanted).order_by(cls.id.desc())
