"""A customer's HTTP server on loopback whose responses are written byte by byte."""

import http.server
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

Script = Callable[[], Iterable[bytes]]
PATIENCE = 20.0


class ScriptedReceiver:
    """Plays a script for each path: writes its pieces as they come. A path without a script hangs."""

    def __init__(self) -> None:
        self.closing = threading.Event()
        self.written: dict[str, int] = {}
        self._scripts: dict[str, Script] = {}
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                receiver.written[self.path] = 0
                # The client closes the connection when it needs no more.
                with suppress(ConnectionError):
                    for piece in receiver.play(self.path):
                        self.wfile.write(piece)
                        receiver.written[self.path] += len(piece)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        serve = self._server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def url(self, path: str, script: Script | None = None) -> str:
        """The URL of a path that plays ``script`` from now on."""
        if script is not None:
            self._scripts[path] = script
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def play(self, path: str) -> Iterable[bytes]:
        """The pieces to write to the client."""
        script = self._scripts.get(path)
        if script is None:
            self.closing.wait(PATIENCE)
            return ()
        return script()

    def drip(self, head: bytes, drop: bytes) -> Script:
        """A script: ``head`` at once, then ``drop`` every second."""

        def play() -> Iterable[bytes]:
            yield head
            while not self.closing.wait(1):
                yield drop

        return play

    def close(self) -> None:
        """Release waiting requests, and stop listening."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
