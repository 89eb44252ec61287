"""Redeliveries of many that the worker has still to schedule, and an index of what may be redelivered.

The models here are frozen copies: a later change of models/ must not change what this did.
"""

from peewee import SQL, BigIntegerField, CharField, Database, ForeignKeyField, Model, TextField


def up(_migrator: object, db: Database) -> None:
    class Webhook(Model):
        id = CharField(primary_key=True)

        class Meta:
            database = db
            table_name = "webhook"

    class Redelivery(Model):
        id = CharField(primary_key=True)
        call_id = CharField()
        webhook = ForeignKeyField(Webhook, on_delete="CASCADE")
        states_json = TextField()
        delivery_ids_json = TextField()
        created_at = BigIntegerField()

        class Meta:
            database = db
            table_name = "redelivery"

    class Delivery(Model):
        id = CharField(primary_key=True)
        webhook = ForeignKeyField(Webhook, index=False)

        class Meta:
            database = db
            table_name = "delivery"

    Delivery.add_index(
        Delivery.index(
            Delivery.webhook,
            Delivery.id,
            where=SQL("state IN ('failed', 'skipped')"),
            name="delivery_undelivered",
        )
    )
    # Of a table that is there already only the indexes are made.
    db.create_tables([Redelivery, Delivery])
