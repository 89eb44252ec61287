"""Identifiers that PostgreSQL sorts by their bytes, in a database of any locale.

A restore into another database can undo this. So ``models.database.migrate`` sees to it each time, also in a
new database, and this migration only has earlier databases migrated.
"""


def up(_migrator: object, _db: object) -> None:
    """Nothing is left to do here."""
