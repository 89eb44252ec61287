"""A relay as long as the way to a distant host: ``with Distance(port, 0.02) as distance``."""

import socket
import time

from contract_tests.relay import Relay


class Distance(Relay):
    """Data and the end of a connection arrive ``seconds`` later, in each direction."""

    def __init__(self, target_port: int, seconds: float) -> None:
        self._seconds = seconds
        # How many requests began.
        self.requests = 0
        super().__init__(target_port)

    def _receive(self, source: socket.socket) -> bytes:
        data = super()._receive(source)
        if data.startswith(b"POST "):
            self.requests += 1
        time.sleep(self._seconds)
        return data
