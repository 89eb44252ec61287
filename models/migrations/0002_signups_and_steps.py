"""A signup keeps its token and PIN only, and the database itself keeps each step of a message once.

A connected number always has the time of its next check.
"""

from typing import Any

from models.message import StatusChange
from models.number import CONNECTED, Number
from models.signup import Signup


def up(_migrator: object, db: Any) -> None:
    # A complete signup had no token.
    kept = list(Signup.select().where(Signup.sealed_token.is_null(False)).dicts())
    db.drop_tables([Signup])
    db.create_tables([Signup, StatusChange])
    if kept:
        Signup.insert_many(kept).execute()
    is_undated = Number.status.in_(CONNECTED) & Number.check_due_at.is_null()
    Number.update(check_due_at=0).where(is_undated).execute()
    db.execute_sql("DROP INDEX IF EXISTS status_change_message_id")
