"""What accounts send in each minute, hosts that responded with 2xx, and webhooks that wait for a limit."""

import time
from typing import Any
from urllib.parse import urlsplit

STATEMENTS = (
    """CREATE TABLE outgoing (
        account_id TEXT NOT NULL,
        minute BIGINT NOT NULL,
        host TEXT NOT NULL,
        requests INTEGER NOT NULL,
        size BIGINT NOT NULL,
        trial INTEGER NOT NULL,
        PRIMARY KEY (account_id, minute, host)
    )""",
    "CREATE INDEX outgoing_minute_host ON outgoing (minute, host)",
    """CREATE TABLE proven_host (
        id TEXT NOT NULL PRIMARY KEY,
        proven_at BIGINT NOT NULL
    )""",
    "CREATE INDEX proven_host_proven_at ON proven_host (proven_at)",
    "ALTER TABLE webhook ADD COLUMN paused_until BIGINT",
)
PROVEN = "SELECT DISTINCT url FROM webhook WHERE trial_minute_at IS NULL"
PROVE = "INSERT INTO proven_host (id, proven_at) VALUES ({0}, {0})"


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
    now = round(time.time() * 1000)
    urls = [urlsplit(url) for (url,) in db.execute_sql(PROVEN).fetchall()]
    # On loopback each port is a host of its own, and proves itself soon.
    for host in sorted({url.hostname for url in urls if url.hostname}):
        db.execute_sql(PROVE.format(db.param), (host, now))
