"""Users of the dashboard, their sessions, and attempts to sign in.

The models here are frozen copies: a later change of models/ must not change what this did.
"""

from peewee import BigIntegerField, CharField, Database, ForeignKeyField, Model, TextField
from playhouse.migrate import SchemaMigrator


def up(_migrator: SchemaMigrator, db: Database) -> None:
    class Account(Model):
        id = CharField(primary_key=True)

        class Meta:
            database = db
            table_name = "account"

    class User(Model):
        id = CharField(primary_key=True)
        account = ForeignKeyField(Account)
        email = CharField(unique=True)
        password_hash = TextField()
        created_at = BigIntegerField()

        class Meta:
            database = db
            table_name = "user"

    class UserSession(Model):
        id = CharField(primary_key=True)
        user = ForeignKeyField(User, on_delete="CASCADE")
        digest = CharField(unique=True)
        created_at = BigIntegerField()
        last_used_at = BigIntegerField()

        class Meta:
            database = db
            table_name = "user_session"

    class SignInAttempt(Model):
        id = CharField(primary_key=True)
        subject = CharField()
        at = BigIntegerField()

        class Meta:
            database = db
            table_name = "sign_in_attempt"
            indexes = ((("subject", "at"), False),)

    db.create_tables([User, UserSession, SignInAttempt])
