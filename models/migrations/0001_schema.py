"""The first schema: the tables, indexes and triggers of models/.

So a new database needs none of the later migrations (models.database.migrate).
"""

from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import models
from models.database import BaseModel
from models.deliveries import event
from models.messages import search
from models.reports import tally


def up(_migrator: object, db: Any) -> None:
    db.create_tables(_tables(BaseModel))
    search.create_words(db)
    tally.create_triggers(db)
    event.order_by_commit(db)


def _tables(base: type[BaseModel]) -> list[type[BaseModel]]:
    """The models with tables. Base classes have none."""
    for module in walk_packages(models.__path__, "models."):
        import_module(module.name)
    derived = [model for each in base.__subclasses__() for model in _tables(each)]
    return derived or [base]
