"""Why a webhook is off, and since when it has its secret.

Nobody wrote down when the secrets of older webhooks were rotated, so this moment stands for it: what was
sent before may have been signed with another one.
"""

import time

from peewee import BigIntegerField, CharField, Database, Model
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    class Webhook(Model):
        id = CharField(primary_key=True)
        secret_changed_at = BigIntegerField(null=True)

        class Meta:
            database = db
            table_name = "webhook"

    migrator.migrate(
        migrator.add_column("webhook", "deactivated_because", CharField(null=True)),
        migrator.add_column("webhook", "secret_changed_at", BigIntegerField(null=True)),
    )
    Webhook.update(secret_changed_at=round(time.time() * 1000)).execute()
