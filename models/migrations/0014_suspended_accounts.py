"""An account is suspended since a moment, or not."""

from peewee import BigIntegerField, Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, _db: Database) -> None:
    migrator.migrate(migrator.add_column("account", "suspended_at", BigIntegerField(null=True)))
