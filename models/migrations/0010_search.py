"""The full-text index of messages, which the worker fills, and indexes to find contacts."""

from typing import Any

from models.messages import search

INDEXES = (
    "contact_of_account ON contact (account_id, id) WHERE merged_into IS NULL",
    "contact_of_number ON contact (number_id, id) WHERE merged_into IS NULL",
    "contact_username ON contact (account_id, username) WHERE username IS NOT NULL",
    "contact_name ON contact (account_id, name, id) WHERE name IS NOT NULL AND merged_into IS NULL",
)
# The first of the new indexes replaces these.
REPLACED = ("contact_account_id", "contact_account_id_id")


def up(_migrator: object, db: Any) -> None:
    db.create_tables([search.SearchBlock])
    search.create_words(db)
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX IF NOT EXISTS {index}")
    for name in REPLACED:
        db.execute_sql(f"DROP INDEX IF EXISTS {name}")
