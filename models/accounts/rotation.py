"""Rotation of the keys for secrets at rest: all stored secrets, and their encryption with the first key.

The service may run meanwhile, if each of its processes has the same keys in the same order.
"""

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from peewee import ModelSelect

import models
from models.accounts import secret
from models.accounts.secret import SealedField
from models.database import BaseModel, Prepared, exclusively, fetch, reading

# Rows of a transaction. It must not delay requests.
BATCH = 200

Column = tuple[type[BaseModel], SealedField]
# A stored secret: the key of its row, and the encrypted text.
Sealed = tuple[str, str]
# The number of secrets by the place of the key that encrypted them (secret.key_of), None if no key fits.
Keys = Counter[int | None]


def columns() -> list[Column]:
    """Every sealed column with its model."""
    for module in walk_packages(models.__path__, "models."):
        if not module.name.startswith("models.migrations."):
            import_module(module.name)
    return [
        (model, field)
        # A model with two bases is derived from both.
        for model in dict.fromkeys(_derived(BaseModel))
        for field in model._meta.sorted_fields  # noqa: SLF001 - peewee's documented attribute
        if isinstance(field, SealedField)
    ]


def _derived(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _derived(model)


def count() -> int:
    """The number of stored secrets."""
    with reading():
        return sum(
            ModelSelect(model, [field]).where(field.is_null(False)).count()
            for model, field in columns()
        )


def survey() -> Keys:
    """The keys that encrypted the stored secrets."""
    return Keys(
        secret.key_of(text) for column in columns() for part in _read(*column) for _, text in part
    )


def rotate() -> Iterator[Keys]:
    """Encrypt all stored secrets with the first key, part by part. Returns the earlier keys of each part.

    A secret that changes meanwhile keeps its new value. Secrets that no key fits stay as they are.
    """
    for column in columns():
        for part in _read(*column):
            found = [(row, text, secret.key_of(text)) for row, text in part]
            if older := [(secret.renew(text), row, text) for row, text, place in found if place]:
                _replace(*column, older)
            yield Keys(place for *_, place in found)


def _read(model: type[BaseModel], field: SealedField) -> Iterator[list[Sealed]]:
    """The secrets of a column, in the order of the rows. Rows that a model hides are included."""
    key: Any = model._meta.primary_key  # noqa: SLF001 - peewee's documented attribute
    last = ""
    while True:
        query = ModelSelect(model, [key, field]).where(key > last, field.is_null(False))
        part: list[Sealed] = fetch(query.order_by(key).limit(BATCH).tuples())
        if not part:
            return
        yield part
        last = part[-1][0]


@exclusively
def _replace(
    model: type[BaseModel], field: SealedField, changes: list[tuple[str, str, str]]
) -> None:
    """Replace the secrets of rows, unless they changed since they were read."""
    key: Any = model._meta.primary_key  # noqa: SLF001 - peewee's documented attribute
    replacing = Prepared(
        lambda after, row, before: model.update({field: after}).where(key == row, field == before)
    )
    for change in changes:
        replacing.execute(*change)
