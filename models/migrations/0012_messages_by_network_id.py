"""A message is found by the network's identifier first, which is all but unique, and then by its number.

The other way round PostgreSQL may take the number for what tells most, and look at all of its messages.
"""

from typing import Any

from peewee import CharField, Database, Model, TextField


def up(_migrator: object, db: Database) -> None:
    class Message(Model):
        id = CharField(primary_key=True)
        number_id = CharField()
        wa_message_id = TextField(null=True)

        class Meta:
            database = db
            table_name = "message"
            indexes = ((("wa_message_id", "number_id"), True),)

    # Of a table that is there already only the index is made.
    db.create_tables([Message])
    execute: Any = db.execute_sql
    execute("DROP INDEX message_number_id_wa_message_id")
