"""A webhook keeps the secret before its last rotation, which signs beside the new one for a day."""

from peewee import Database, TextField
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, _db: Database) -> None:
    migrator.migrate(migrator.add_column("webhook", "previous_sealed_secret", TextField(null=True)))
