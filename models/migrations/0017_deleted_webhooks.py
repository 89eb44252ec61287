"""What belongs to a deleted webhook is removed later, in batches: until then its row stays, out of sight."""

from peewee import SQL, BigIntegerField, CharField, Database, Model
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    class Webhook(Model):
        id = CharField(primary_key=True)
        deleted_at = BigIntegerField(null=True)

        class Meta:
            database = db
            table_name = "webhook"

    migrator.migrate(migrator.add_column("webhook", "deleted_at", BigIntegerField(null=True)))
    is_deleted = SQL("deleted_at IS NOT NULL")
    Webhook.add_index(Webhook.index(Webhook.deleted_at, where=is_deleted, name="webhook_deleted"))
    # Of a table that is there already only the indexes are made.
    db.create_tables([Webhook])
