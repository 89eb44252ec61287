"""The workers' sign of life."""

from peewee import BigIntegerField, CharField, Database, Model


def up(_migrator: object, db: Database) -> None:
    class Heartbeat(Model):
        name = CharField(primary_key=True)
        at = BigIntegerField()

        class Meta:
            database = db
            table_name = "heartbeat"

    db.create_tables([Heartbeat])
