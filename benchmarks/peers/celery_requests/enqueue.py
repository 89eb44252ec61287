"""Enqueues deliveries with Celery: COUNT at once, or one for each line of stdin.

``python -m benchmarks.peers.celery_requests.enqueue COUNT URL...`` enqueues and exits. With COUNT 0 it reads
the names of events, one a line, and prints for each the time just before it was enqueued.
"""

import sys
import time

from benchmarks.payload import event_body
from benchmarks.peers.celery_requests.app import app, deliver


def enqueue_all(count: int, urls: list[str]) -> None:
    """Enqueue ``count`` deliveries, to the addresses in turns, over one connection."""
    with app.producer_or_acquire() as producer:
        for number in range(count):
            arguments = (urls[number % len(urls)], event_body(f"msg_{number}"))
            deliver.apply_async(arguments, producer=producer)


def enqueue_as_told(url: str) -> None:
    """Enqueue one delivery for each line."""
    with app.producer_or_acquire() as producer:
        for line in sys.stdin:
            body = event_body(line.strip())
            at = time.time()
            deliver.apply_async((url, body), producer=producer)
            print(at, flush=True)


if __name__ == "__main__":
    count, urls = int(sys.argv[1]), sys.argv[2:]
    if count:
        enqueue_all(count, urls)
    else:
        enqueue_as_told(urls[0])
