"""The audit log: who changed what in an account, when and from where.

A row has the user's email of its time, so that it stays true when the user is removed. No row has a secret.
"""

import json
from collections.abc import Iterable
from typing import Any, Self

from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock
from models.accounts.account import Account, Owned
from models.accounts.user import User
from models.database import writing
from models.page import Page, fetch_page

PREFIX = "aud"
# The name of the operator in the log: changes on the command line.
OPERATOR = "operator"


class Audit(Owned):
    """One change. ``subject`` is the identifier of what was changed, ``address`` the client's."""

    account = ForeignKeyField(Account, lazy_load=False, index=False)
    at = BigIntegerField()
    user_id = TextField(null=True)
    who = TextField()
    address = TextField()
    action = TextField()
    subject = TextField(null=True)
    detail_json = TextField()

    class Meta:
        indexes = ((("account", "id"), False),)

    @property
    def detail(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.detail_json)
        return found

    @classmethod
    def note(
        cls, user: User, action: str, address: str, subject: str | None = None, **detail: Any
    ) -> None:
        """Write a row about what a user did."""
        by = {"user_id": user.id, "who": user.email, "address": address}
        cls._write(user.account_id, action, subject, detail, **by)

    @classmethod
    def note_each(cls, users: Iterable[User], action: str, address: str) -> None:
        """Write a row about what happened to a person into the log of each of their accounts.

        It is one statement for any number of accounts, which the time that it takes does not reveal.
        """
        now = clock.now()
        rows = [
            {
                "id": clock.new_id(PREFIX),
                "account": user.account_id,
                "at": now,
                "user_id": user.id,
                "who": user.email,
                "address": address,
                "action": action,
                "detail_json": "{}",
            }
            for user in users
        ]
        with writing():
            cls.insert_many(rows).execute()

    @classmethod
    def note_operator(cls, user: User, action: str, **detail: Any) -> None:
        """Write a row about what the operator did to a user."""
        cls._write(user.account_id, action, user.id, detail, who=OPERATOR, address="")

    @classmethod
    def _write(
        cls, account_id: str, action: str, subject: str | None, detail: Any, **by: Any
    ) -> None:
        with writing():
            cls.create(
                id=clock.new_id(PREFIX),
                account=account_id,
                at=clock.now(),
                action=action,
                subject=subject,
                detail_json=json.dumps(detail),
                **by,
            )

    @classmethod
    def search(
        cls,
        account_id: str,
        limit: int,
        offset: int,
        *,
        who: str = "",
        action: str = "",
        since: int | None = None,
        until: int | None = None,
    ) -> Page[Self]:
        """The account's rows that match, newest first. ``until`` is exclusive, in ms."""
        wanted = [cls.account == account_id]
        wanted += [cls.who == who] if who else []
        wanted += [cls.action == action] if action else []
        wanted += [cls.id >= clock.id_bound(PREFIX, since)] if since is not None else []
        wanted += [cls.id < clock.id_bound(PREFIX, until)] if until is not None else []
        return fetch_page(cls.select().where(*wanted).order_by(cls.id.desc()), limit, offset)
