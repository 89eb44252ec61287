"""The API request log."""

from typing import Any

from models.accounts.api_request import ApiRequest


def up(_migrator: object, db: Any) -> None:
    db.create_tables([ApiRequest])
