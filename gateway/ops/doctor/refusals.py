"""What a server or file says that does not let us in, and what is to be done about it."""

import re

from gateway.ops.doctor.finding import Finding, problem
from gateway.settings import PREFIX
from gateway.state import in_one_line

# By words of SQLite, PostgreSQL and Redis, the first that fits. Codes do not say as much: of a connection
# that was refused libpq passes on none.
_MENDS: tuple[tuple[str, str], ...] = (
    (
        r"unable to open|readonly database|malformed|not a database|disk I/O",
        "Give the file of {setting} to the gateway's user; a queue's file may be deleted.",
    ),
    (
        r'database ".*" does not exist',
        "Make the database (docs/operations.md), or mend its name in {setting}.",
    ),
    (
        r'role ".*" does not exist',
        "Make the role (docs/operations.md), or mend the user in {setting}.",
    ),
    (
        r"password|authenticat|pg_hba\.conf|NOAUTH|WRONGPASS",
        "Mend user and password in {setting}; special characters are percent-encoded.",
    ),
    (
        r"permission denied|no permissions|NOPERM",
        "Make the user of {setting} the database's owner; in Redis let its ACL have every command.",
    ),
    (
        r"too many clients|connection slots|max number of clients|Too many connections",
        "Let the server take more connections, or lower GATEWAY_DATABASE_CONNECTIONS.",
    ),
    (r"starting up|shutting down|loading the dataset", "Wait until the server is up."),
    (
        r"read-only|read only|in recovery",
        "Name the primary in {setting}; this one is a replica.",
    ),
    (r"MISCONF|OOM|No space left", "Give the server room: its disk or its memory is full."),
    (r"DB index", "Mend the number at the end of {setting}."),
    (
        r"refused|time(d )?out|resolve|not known|No such file|closed|reset|unreachable|No route",
        "Start the server, or mend the address in {setting}.",
    ),
)


def refused(name: str, error: Exception) -> Finding:
    """The finding of a place that the setting ``name`` leads to. The error's text is shown."""
    said = in_one_line(error)
    mend = next(
        (mend for words, mend in _MENDS if re.search(words, said, re.IGNORECASE)),
        "See what the server's own log says, and mend {setting}.",
    )
    return problem(f"It cannot be used: {said}", mend.format(setting=PREFIX + name))
