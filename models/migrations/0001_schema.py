"""The first schema: the tables, indexes and triggers of models/.

So a new database needs none of the later migrations (models.database.migrate).
"""

from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from peewee import NotSupportedError

import models
from models.database import BaseModel
from models.deliveries import event
from models.messages import search
from models.reports import tally

# The last migration of unreleased versions. It left the same tables; its other indexes do no harm.
LAST_UNRELEASED = "0017_deleted_webhooks"


def up(_migrator: object, db: Any) -> None:
    (last,) = db.execute_sql("SELECT MAX(name) FROM schema_migration").fetchone()
    if last is None:
        db.create_tables(_tables(BaseModel))
        search.create_words(db)
        tally.create_triggers(db)
        event.order_by_commit(db)
    elif last != LAST_UNRELEASED:
        raise NotSupportedError(
            f"{last} is its last migration, of an unreleased version; first run gateway migrate of the last "
            f"commit that has models/migrations/{LAST_UNRELEASED}.py"
        )


def _tables(base: type[BaseModel]) -> list[type[BaseModel]]:
    """The models with tables. Base classes have none."""
    for module in walk_packages(models.__path__, "models."):
        import_module(module.name)
    derived = [model for each in base.__subclasses__() for model in _tables(each)]
    return derived or [base]
