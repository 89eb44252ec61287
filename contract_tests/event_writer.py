"""A process that writes events of an account, in transactions that overlap with other writers'.

Arguments: the account's identifier, a name, the number of events, and seconds between transactions.
"""

import random
import sys
import time

from gateway.settings import get_settings
from gateway.storage import connect_state
from models.database import appending, database
from models.deliveries.event import Event


def write(account_id: str, name: str, count: int, pause: float) -> None:
    """Events with ``data.id`` from ``name-0``. Every second transaction stays open for a moment."""
    for number in range(count):
        data = {"id": f"{name}-{number}", "writtenAt": time.time()}
        with appending():
            Event.append(account_id, "number.updated", data, number_id="num_1", subject_id=name)
            if number % 2:
                # It has its position now, but commits after later ones.
                database.execute_sql("SELECT 1")
                time.sleep(random.uniform(0, 0.01))  # noqa: S311 - no secret
        time.sleep(pause)


if __name__ == "__main__":
    connect_state(get_settings())
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
