"""Who gets no marketing in an account, its settings of consent, and the answers to opt-outs.

The opt-outs of contacts become suppressions of their accounts, and hold for the person's other contacts too.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from typing import Any

from models import clock
from models.accounts import secret

STATEMENTS = (
    "ALTER TABLE account ADD COLUMN sealed_salt TEXT",
    "ALTER TABLE account ADD COLUMN consent_scope TEXT NOT NULL DEFAULT 'account'",
    "ALTER TABLE account ADD COLUMN languages_text TEXT",
    "ALTER TABLE account ADD COLUMN stop_answer TEXT",
    # Without a reference to the account, whose check is a quarter of the time of an insert on PostgreSQL.
    """CREATE TABLE suppression (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL,
        digest TEXT NOT NULL,
        person TEXT,
        number_id TEXT NOT NULL,
        reason TEXT,
        source TEXT NOT NULL,
        at BIGINT NOT NULL,
        ended_at BIGINT
    )""",
    """CREATE UNIQUE INDEX suppression_account_id_digest_number_id
        ON suppression (account_id, digest, number_id)""",
    "CREATE INDEX suppression_in_force ON suppression (account_id, id) WHERE ended_at IS NULL",
    """CREATE TABLE opt_out_answer (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL REFERENCES account (id),
        number_id TEXT NOT NULL,
        contact_id TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        due_at BIGINT NOT NULL,
        tries INTEGER NOT NULL,
        lease_token TEXT
    )""",
    "CREATE INDEX opt_out_answer_due_at ON opt_out_answer (due_at)",
    "CREATE INDEX opt_out_answer_contact_id ON opt_out_answer (contact_id)",
)
IDS = ("phone", "user_id", "parent_user_id")
# With the phone numbers that the network corrected to those of a contact.
OPTED_OUT = """SELECT account_id, phone, user_id, parent_user_id, opted_out_at, opted_out_because
    FROM contact WHERE opted_out_at IS NOT NULL
    UNION ALL SELECT contact.account_id, given.phone, NULL, NULL, opted_out_at, opted_out_because
    FROM (SELECT phone, merged_into FROM contact WHERE merged_into IS NOT NULL) given
    JOIN contact ON contact.id = given.merged_into
    WHERE given.phone IS NOT NULL AND contact.opted_out_at IS NOT NULL
    ORDER BY 1, 5 DESC"""
SALT = "UPDATE account SET sealed_salt = {0} WHERE id = {0}"
# The latest opt-out is first.
SUPPRESS = """INSERT INTO suppression (id, account_id, digest, person, number_id, source, at)
    VALUES ({0}, {0}, {0}, {0}, '', {0}, {0}) ON CONFLICT DO NOTHING"""
# Each contact once.
OPT_OUT = """UPDATE contact SET opted_out_at = {{0}}, opted_out_because = {{0}}
    WHERE id IN (SELECT COALESCE(merged_into, id) FROM contact
        WHERE number_id IN (SELECT id FROM number WHERE account_id = {{0}}) AND {name} = {{0}})
    AND merged_into IS NULL AND opted_out_at IS NULL
    RETURNING id, phone, user_id, parent_user_id"""
GIVEN = "SELECT phone FROM contact WHERE merged_into = {0} AND phone IS NOT NULL"


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
    salts: dict[str, str] = {}
    for account_id, name, person, at, because in _opt_outs(db):
        if account_id not in salts:
            salts[account_id] = secrets.token_hex(32)
            sealed_salt = secret.encrypt(salts[account_id])
            db.execute_sql(SALT.format(db.param), (sealed_salt, account_id))
        key = bytes.fromhex(salts[account_id])
        _suppress(db, key, [(name, person)], (at, because, account_id))


def _suppress(
    db: Any, key: bytes, found: list[tuple[str, str]], said: tuple[int, str, str]
) -> None:
    """Record an opt-out for identifiers, and for those of the contacts that it opts out."""
    at, because, account_id = said
    while found:
        name, person = found.pop()
        digest = hmac.digest(key, person.encode(), hashlib.sha256)[:16].hex()
        values = clock.new_id("sup"), account_id, digest, person, because, at
        db.execute_sql(SUPPRESS.format(db.param), values)
        found += _opt_out(db, name, (*said, person))


def _opt_out(db: Any, name: str, values: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    """Opt out the contacts of a person. The identifiers of those that were not."""
    statement = OPT_OUT.format(name=name).format(db.param)
    for contact_id, *people in db.execute_sql(statement, values).fetchall():
        yield from ((n, p) for n, p in zip(IDS, people, strict=True) if p is not None)
        given = db.execute_sql(GIVEN.format(db.param), (contact_id,)).fetchall()
        yield from (("phone", phone) for (phone,) in given)


def _opt_outs(db: Any) -> Iterator[tuple[str, str, str, int, str]]:
    """The account, the kind of the identifier, the identifier, the time and the source of each opt-out."""
    for account_id, *people, at, because in db.execute_sql(OPTED_OUT).fetchall():
        for name, person in zip(IDS, people, strict=True):
            if person is not None:
                yield account_id, name, person, at, because or "api"
