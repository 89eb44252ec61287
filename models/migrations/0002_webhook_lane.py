"""Webhooks whose receiver lets attempts time out are delivered to in a lane of their own."""

from peewee import BooleanField, Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, _db: Database) -> None:
    migrator.migrate(migrator.add_column("webhook", "slow", BooleanField(default=False)))
