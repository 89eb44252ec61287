"""The owner of a broadcast, who watches it, pauses it, and resumes it after failures."""

import time
from collections import Counter
from collections.abc import Callable

import requests

from contract_tests.broadcasts import Broadcast
from contract_tests.harness import WAIT_SECONDS, Gateway, wait_for

LOOK_SECONDS = 0.1
BY_USER, FAILURES = "paused_by_user", "many_failures"


class Owner:
    """``resumed`` counts the reasons of the pauses."""

    def __init__(self, gateway: Gateway, broadcast: Broadcast, look: Callable[[], None]) -> None:
        self._gateway = gateway
        self.broadcast = broadcast
        # Called each time the owner looks.
        self._look = look
        self._shown = broadcast.read()
        self.resumed = Counter[str]()

    @property
    def accepted(self) -> int:
        """How many messages the network has accepted."""
        state = requests.get(f"{self._gateway.sandbox}/_sandbox/state", timeout=WAIT_SECONDS)
        return int(state.json()["messages"])

    def reach(self, accepted: int, what: str, seconds: float) -> None:
        """Let it send until the network has accepted so many messages and the service answers.

        Or until its end.
        """
        wait_for(
            lambda: self._see() and (self.accepted >= accepted or self._is_over), what, seconds
        )

    def finish(self, seconds: float) -> None:
        """Let it send until its end."""
        try:
            wait_for(lambda: self._see() and self._is_over, "the end of the broadcast", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.counts}") from None

    def hold_back(self, accepted: int, seconds: float) -> None:
        """Wait, and pause the broadcast if the network has accepted so many messages meanwhile."""
        ends, has_paused = time.monotonic() + seconds, False
        while time.monotonic() < ends:
            if not has_paused and self.accepted >= accepted:
                has_paused = self._pause()
            time.sleep(LOOK_SECONDS)

    @property
    def counts(self) -> dict[str, int]:
        """The recipients by outcome when the owner last looked."""
        counts: dict[str, int] = self._shown["counts"]
        return counts

    @property
    def _is_over(self) -> bool:
        return bool(self._shown["status"] == "done")

    def _pause(self) -> bool:
        """Returns whether it ran, and the service works."""
        try:
            self.broadcast.act("pause")
        except requests.RequestException:
            return False
        return True

    def _see(self) -> bool:
        """Look at the broadcast, and resume it if it is paused. Returns whether the service answered."""
        self._look()
        try:
            self._shown = self.broadcast.read()
            if self._shown["status"] == "paused":
                reason = self._shown["reason"]["code"]
                assert reason in {BY_USER, FAILURES}, self._shown["reason"]
                self.broadcast.act("resume")
                self.resumed[reason] += 1
        except requests.RequestException:
            return False
        return True
