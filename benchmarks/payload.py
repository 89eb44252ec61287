"""The event that every contender delivers. The peers import it too, so it needs only the standard library."""

SIZE = 500
_BEGINNING = '{"event":"message.received","timestamp":"2026-11-20T09:31:00.000Z","data":{"id":"'


def event_body(name: str) -> str:
    """An event about ``name``, as JSON text of SIZE bytes."""
    return f'{_BEGINNING}{name}","pad":"'.ljust(SIZE - 3, "x") + '"}}'
