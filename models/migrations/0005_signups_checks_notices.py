"""Signups under way, checks of numbers that are due, and notices of the platform.

The models here are frozen copies: a later change of models/ must not change what this did.
"""

from peewee import BigIntegerField, CharField, Database, ForeignKeyField, Model, TextField
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    class SignupLink(Model):
        id = CharField(primary_key=True)

        class Meta:
            database = db
            table_name = "signup_link"

    class Number(Model):
        id = CharField(primary_key=True)

        class Meta:
            database = db
            table_name = "number"

    class Signup(Model):
        id = CharField(primary_key=True)
        link = ForeignKeyField(SignupLink, on_delete="CASCADE", index=False)
        code_hash = CharField()
        phone_number_id = CharField()
        waba_id = CharField()
        phone_number = CharField()
        display_name = TextField(null=True)
        number = ForeignKeyField(Number, null=True)
        sealed_token = TextField(null=True)
        sealed_pin = TextField(null=True)
        step = CharField()
        error_code = CharField(null=True)
        created_at = BigIntegerField()
        updated_at = BigIntegerField()

        class Meta:
            database = db
            table_name = "signup"
            indexes = ((("link", "code_hash"), True),)

    class Notice(Model):
        id = CharField(primary_key=True)
        digest = CharField(unique=True)
        waba_id = CharField(index=True)
        number = ForeignKeyField(Number, null=True)
        phone_number = CharField(null=True)
        field = CharField()
        event = CharField()
        value_json = TextField()
        at = BigIntegerField()

        class Meta:
            database = db
            table_name = "notice"

    migrator.migrate(
        migrator.add_column("number", "check_due_at", BigIntegerField(null=True, index=True))
    )
    db.create_tables([Signup, Notice])
