"""An account's messages that have not arrived are listed by an index of their own.

The index that goes was of all accounts' messages by status, and every step of every message moved in it.
"""

from peewee import SQL, CharField, Database, Model
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    class Message(Model):
        id = CharField(primary_key=True)
        account_id = CharField()
        status = CharField()

        class Meta:
            database = db
            table_name = "message"

    migrator.migrate(migrator.drop_index("message", "message_status_id"))
    for columns, statuses, name in (
        ((Message.account_id, Message.id), "'pending', 'unknown', 'sent', 'failed'", "unarrived"),
        ((Message.id,), "'pending', 'unknown'", "unsettled"),
    ):
        where = SQL(f"status IN ({statuses})")
        Message.add_index(Message.index(*columns, where=where, name=f"message_{name}"))
    db.create_tables([Message])
