"""The minimum with Python and requests: sign and post, one after the other.

``python -m benchmarks.peers.requests_loop FIRST COUNT URL...`` sends COUNT events, numbered from FIRST.
"""

import sys

from benchmarks.payload import event_body
from benchmarks.peers.signing import kept_session, signed_post


def send_all(first: int, count: int, urls: list[str]) -> None:
    """Send to the URLs in turns."""
    with kept_session() as session:
        for number in range(first, first + count):
            signed_post(session, urls[number % len(urls)], event_body(f"msg_{number}"))


if __name__ == "__main__":
    send_all(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
