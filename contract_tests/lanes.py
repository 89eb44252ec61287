"""Kept connections to each of several web processes at one port, and what each process counted."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Self

import requests
from prometheus_client.parser import text_string_to_metric_families

from contract_tests.harness import WAIT_SECONDS, wait_for


class Lane(requests.Session):
    """A connection to one of the processes, for as long as it is used every other second."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url

    def process(self) -> int:
        """The id of the process at its other end."""
        return int(next(iter(self._samples("process_start_time_seconds"))))

    def answered(self) -> Mapping[str, int]:
        """How many requests that process has answered, by their status."""
        return {status: int(n) for status, n in self._samples("gateway_requests_total").items()}

    def _samples(self, name: str) -> Mapping[str, float]:
        """By their status, or by the process id where they have none."""
        text = self.get(f"{self.url}/metrics", timeout=WAIT_SECONDS).text
        return {
            sample.labels.get("status", sample.labels["pid"]): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name
        }


class Lanes:
    """Connections to each of the processes behind ``url``, ``each`` as many. By process id.

    It waits ``seconds`` until there are so many processes.
    """

    def __init__(
        self, url: str, processes: int, each: int = 1, seconds: float = WAIT_SECONDS
    ) -> None:
        self.of: dict[int, list[Lane]] = defaultdict(list)

        def has_enough() -> bool:
            lane = Lane(url)
            kept = self.of[lane.process()]
            if len(kept) < each:
                kept.append(lane)
            else:
                lane.close()
            return len(self.of) == processes and all(len(k) == each for k in self.of.values())

        wait_for(has_enough, f"connections to {processes} processes", seconds)

    def all(self) -> list[Lane]:
        """Every connection."""
        return [lane for lanes in self.of.values() for lane in lanes]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for lane in self.all():
            lane.close()
