"""A process with a watchdog. The first argument says how it hangs, the second is the watchdog's time."""

import asyncio
import re
import sys
import threading
import time

from gateway.ops.logs import configure_logging
from gateway.ops.watchdog import Watchdog


def _search() -> None:
    """Python's lock is not released meanwhile: this takes longer than anybody waits."""
    re.match(r"(a|aa)+$", "a" * 60 + "b")


async def _run(how: str, watchdog: Watchdog) -> None:
    began_at = time.monotonic()
    if how != "lock":
        watchdog.watch_loop("the loop", asyncio.get_running_loop())
        watchdog.watch("a part", lambda: began_at if how == "part" else None)
        watchdog.watch("a patient part", lambda: began_at, patience=60)
    watchdog.start()
    sys.stdout.write("started\n")
    sys.stdout.flush()
    match how:
        case "loop":
            time.sleep(60)  # noqa: ASYNC251 - it hangs
        case "lock":
            threading.Thread(target=_search, daemon=True).start()
        case "stop":
            watchdog.end_within(0.5)
    await asyncio.sleep(60)


if __name__ == "__main__":
    configure_logging("json")
    asyncio.run(_run(sys.argv[1], Watchdog(float(sys.argv[2]))))
