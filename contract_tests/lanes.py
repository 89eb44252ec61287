"""Persistent connections to each of several web processes at one port."""

from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Self

import requests

from contract_tests.harness import WAIT_SECONDS, wait_for


class Lane(requests.Session):
    """A connection to one of the processes. It lasts while it is used every other second."""

    def __init__(self, url: str) -> None:
        super().__init__()
        with self.get(f"{url}/healthz", stream=True, timeout=WAIT_SECONDS) as answer:
            assert answer.raw.connection is not None
            ours = answer.raw.connection.sock
            ends = (ours.getpeername()[1], ours.getsockname()[1])
            # Read to its end, or the connection would be closed.
            assert answer.content
        self.pid = _process_at(*ends)
        """The process at the other end."""


def _process_at(port: int, peer: int) -> int:
    """The process with the connection from ``port`` of 127.0.0.1 to ``peer``, according to the kernel."""
    ends = [f"0100007F:{each:04X}" for each in (port, peer)]
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    # A line may come twice. One of an earlier connection that the kernel still lists has no socket.
    [inode] = {each[9] for each in lines if each[1:3] == ends} - {"0"}
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):  # It belongs to another user, or ended meanwhile.
            if str(link.readlink()) == f"socket:[{inode}]":
                return int(link.parts[2])
    raise LookupError(f"No process holds the connection from port {port} to {peer}.")


class Lanes:
    """``each`` connections to each of the processes behind ``url``, by process id.

    Waits up to ``seconds`` for this number of processes.
    """

    def __init__(
        self, url: str, processes: int, each: int = 1, seconds: float = WAIT_SECONDS
    ) -> None:
        self.of: dict[int, list[Lane]] = defaultdict(list)

        def has_enough() -> bool:
            lane = Lane(url)
            kept = self.of[lane.pid]
            if len(kept) < each:
                kept.append(lane)
            else:
                lane.close()
            return len(self.of) == processes and all(len(k) == each for k in self.of.values())

        wait_for(has_enough, f"connections to {processes} processes", seconds)

    def all(self) -> list[Lane]:
        """All connections."""
        return [lane for lanes in self.of.values() for lane in lanes]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for lane in self.all():
            lane.close()
