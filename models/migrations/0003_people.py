"""Contacts, and new columns of messages.

A message has its person, the message that it replies to, the time of its latest step, and the network's
``message_status``. Older messages have no contact. The next message of the person creates it.
"""

from typing import Any

from peewee import BigIntegerField, TextField

from models.messages.contact import Contact, ContactChange


def up(migrator: Any, db: Any) -> None:
    db.create_tables([Contact, ContactChange])
    migrator.migrate(
        migrator.add_column("message", "contact_id", TextField(null=True)),
        migrator.add_column("message", "quoted_id", TextField(null=True)),
        migrator.add_column("message", "quoted_wa_id", TextField(null=True)),
        migrator.add_column("message", "changed_at", BigIntegerField(null=True)),
        migrator.add_column("message", "acceptance", TextField(null=True)),
        migrator.add_column("account", "stop_text", TextField(default="")),
        migrator.add_column("account", "start_text", TextField(default="")),
    )
    db.execute_sql(
        "CREATE INDEX message_contact ON message (contact_id, id) WHERE contact_id IS NOT NULL"
    )
