"""A port on loopback that accepts connections and never responds."""

import contextlib
import socket
from typing import Self


class Listener:
    """The kernel accepts the connections, and nothing reads from them. Use it as a context manager."""

    def __init__(self, address: str = "127.0.0.1", port: int = 0) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.create_server((address, port), family=family)
        self._socket.settimeout(0)
        self.port: int = self._socket.getsockname()[1]

    def was_called(self) -> bool:
        """True if there was a new connection since the last call."""
        with contextlib.suppress(BlockingIOError):
            self._socket.accept()[0].close()
            return True
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
