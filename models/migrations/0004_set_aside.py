"""Items of callbacks that could not be taken in, kept for an operator or until they can be.

A callback that was given up before gets one more try, after which its failing items are set aside.
The models here are frozen copies: a later change of models/ must not change what this did.
"""

from peewee import (
    SQL,
    BigIntegerField,
    BlobField,
    CharField,
    Database,
    IntegerField,
    Model,
    TextField,
)

MAX_TRIES = 10


def up(_migrator: object, db: Database) -> None:
    class SetAside(Model):
        id = CharField(primary_key=True)
        reason = CharField()
        phone_number_id = CharField(null=True)
        wa_message_id = TextField(null=True)
        body = BlobField()
        fingerprint = CharField()
        error = TextField(null=True)
        created_at = BigIntegerField()
        settled_at = BigIntegerField(null=True)

        class Meta:
            database = db
            table_name = "set_aside"
            indexes = ((("settled_at", "reason", "id"), False),)

    class Callback(Model):
        id = CharField(primary_key=True)
        ingested_at = BigIntegerField(null=True)
        tries = IntegerField()

        class Meta:
            database = db
            table_name = "callback"

    open_only = SQL("settled_at IS NULL")
    SetAside.add_index(
        SetAside.index(
            SetAside.fingerprint, unique=True, where=open_only, name="set_aside_fingerprint"
        )
    )
    SetAside.add_index(
        SetAside.index(SetAside.wa_message_id, where=open_only, name="set_aside_message")
    )
    db.create_tables([SetAside])
    Callback.update(tries=MAX_TRIES - 1).where(
        Callback.ingested_at.is_null(), Callback.tries >= MAX_TRIES
    ).execute()
