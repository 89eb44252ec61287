"""An HTTP proxy that forwards connections for graph.facebook.com to the sandbox, and refuses all others.

Clients find it through HTTPS_PROXY, like a company's proxy, so they run unmodified. It forwards the TLS bytes
and cannot read them.
"""

import contextlib
import socket
import threading
from socketserver import BaseRequestHandler, ThreadingTCPServer

HOST = b"graph.facebook.com:443"
PATIENCE = 20.0


class Tunnel(ThreadingTCPServer):
    """CONNECT to ``graph.facebook.com:443`` is a connection to this port of the loopback."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, port: int) -> None:
        self.port = port
        super().__init__(("127.0.0.1", 0), _Connection)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


class _Connection(BaseRequestHandler):
    server: Tunnel
    request: socket.socket

    def handle(self) -> None:
        asked = b""
        while not asked.endswith(b"\r\n\r\n"):
            piece = self.request.recv(1)
            if not piece:
                return
            asked += piece
        if asked.split()[:2] != [b"CONNECT", HOST]:
            self.request.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", self.server.port), PATIENCE) as sandbox:
            sandbox.settimeout(None)
            self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_copy, args=(sandbox, self.request), daemon=True)
            back.start()
            _copy(self.request, sandbox)
            back.join(PATIENCE)


def _copy(source: socket.socket, target: socket.socket) -> None:
    # Either side may close the connection at any time.
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
