"""The HTTP server: uvicorn, with answers in our error shape where no application is reached yet."""

import asyncio
import http
import logging
import sys
import time
from typing import Any, cast

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from gateway.http.auth import NOBODY
from gateway.http.connections import IDLE_SECONDS, BoundedConnection
from gateway.http.edge import Edge
from gateway.http.observation import HEADER, new_request_id
from gateway.ops.metrics import share
from gateway.settings import Settings
from handlers.errors import ApiError

logger = logging.getLogger(__name__)

MAX_HEADER_BYTES = 32 * 1024
# As uvicorn has it.
STARTUP_FAILURE = 3
APPLICATION = "gateway.api.app:create_app"
# What a stop gives running requests above the time that the network may take.
GRACE_SECONDS = 5
# What a request has to answer after the grace is over, before uvicorn closes its connection.
CANCEL_SECONDS = 1
POLL_SECONDS = 0.02
# One of several processes that says nothing for so long is killed and started again. Starting takes some
# seconds of silence on a machine that has a lot to do.
SILENCE_SECONDS = 20


class GatewayProtocol(BoundedConnection):
    """HTTP/1.1 with a bound on the request line and headers, and malformed requests answered in JSON."""

    _header_bytes = 0
    _in_head = False
    _head_ended = False
    _refused = False
    _owed: ApiError | None = None
    _unread = 0

    def on_message_begin(self) -> None:
        """A new request begins."""
        super().on_message_begin()
        self._header_bytes = 0
        self._in_head = True

    def on_headers_complete(self) -> None:
        """The request line and headers are in."""
        self._in_head, self._head_ended = False, True
        self._check_head()
        super().on_headers_complete()

    def on_url(self, url: bytes) -> None:
        """A part of the request line came in."""
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header came in."""
        super().on_header(name, value)
        self._count(len(name) + len(value))

    def on_response_complete(self) -> None:
        """A response is out."""
        super().on_response_complete()
        if self._owed is not None and not self.pipeline and not self.transport.is_closing():
            self._send_error(self._owed)

    def _check_head(self) -> None:
        """Refuse what the parser lets pass and a server must not (RFC 9112, sections 2.3, 3.2, 6.1)."""
        version = self.parser.get_http_version()
        hosts = sum(name == b"host" for name, _ in self.headers)
        codings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
        if version not in {"1.0", "1.1"} or hosts > 1 or (version == "1.1" and not hosts):
            raise _BadHeadError
        if codings not in ([], [b"chunked"]):
            raise _BadHeadError

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > MAX_HEADER_BYTES:
            raise _HeadersTooLargeError

    def data_received(self, data: bytes) -> None:
        """Bytes came in."""
        if self._refused:
            return
        was_in_head, self._head_ended = self._in_head, False
        super().data_received(data)
        # The parser tells of a header only when it is complete; one that never ends is bounded here.
        is_one_head = was_in_head and self._in_head and not self._head_ended
        self._unread = self._unread + len(data) if is_one_head else 0
        if self._unread > MAX_HEADER_BYTES and not self._refused:
            self._header_bytes = self._unread
            self.send_400_response("")

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser could not take, and close the connection."""
        self._refused = True
        if self._header_bytes > MAX_HEADER_BYTES:
            text = f"The request line and headers are larger than {MAX_HEADER_BYTES} bytes."
            self._send_error(ApiError(text, status=431))
        else:
            self._send_error(ApiError(msg, status=400))

    def refuse(self, error: ApiError) -> None:
        """Answer a client that is late, and close the connection."""
        if not self._refused:
            self._refused = True
            self._send_error(error)

    def _send_error(self, error: ApiError) -> None:
        # Before the first request there is none, whatever its annotation says.
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not (cycle.more_body or cycle.response_complete):
            # A request before the malformed one is being worked on, and its answer comes first.
            self._owed = error
            return
        request_id = new_request_id()
        edge = _edge_of(self.app)
        body = error.body.encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
            (HEADER, request_id.encode()),
        ]
        if edge is not None:
            headers += edge.limiter.count_here(*NOBODY.counted(self.client)).headers
        status = http.HTTPStatus(error.status)
        lines = [b"HTTP/1.1 %d %s" % (status, status.phrase.encode())]
        lines += [name + b": " + value for name, value in headers]
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        self.transport.close()
        fields = {"request_id": request_id, "status": error.status, "bytes": len(body)}
        logger.info("malformed request", extra={"fields": fields})


def _edge_of(app: object) -> Edge | None:
    """The edge below what is around it: uvicorn's own layer, if any, and Observed."""
    while not isinstance(app, Edge) and hasattr(app, "app"):
        app = app.app
    return app if isinstance(app, Edge) else None


class _HeadersTooLargeError(httptools.HttpParserError):
    pass


class _BadHeadError(httptools.HttpParserError):
    pass


class Server(uvicorn.Server):
    """Stops in two steps: while requests run, new ones get 503; then uvicorn closes what is left."""

    grace: float = GRACE_SECONDS

    async def shutdown(self, sockets: Any = None) -> None:
        """Let running requests finish, at most for ``grace`` seconds."""
        edge = _edge_of(self.config.loaded_app)
        deadline = time.monotonic() + self.grace
        if edge is not None:
            edge.traffic.stop()
            while (  # noqa: ASYNC110 - a second signal sets a flag only
                edge.traffic.running and time.monotonic() < deadline and not self.force_exit
            ):
                await asyncio.sleep(POLL_SECONDS)
        await super().shutdown(sockets)


def serve(settings: Settings, host: str, port: int) -> None:
    """Serve the application until SIGTERM or SIGINT."""
    grace = settings.network_timeout + GRACE_SECONDS
    options: dict[str, Any] = {
        "factory": True,
        "host": host,
        "port": port,
        "http": GatewayProtocol,
        "ws": "none",
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "timeout_keep_alive": IDLE_SECONDS,
        "timeout_worker_healthcheck": SILENCE_SECONDS,
    }
    if settings.workers > 1:
        # The others take what comes while one stops.
        options |= {"workers": settings.workers, "timeout_graceful_shutdown": round(grace)}
        share(settings.data_dir / "metrics" / str(port))
        uvicorn.run(APPLICATION, **options)
        return
    config = uvicorn.Config(APPLICATION, timeout_graceful_shutdown=CANCEL_SECONDS, **options)
    server = Server(config)
    server.grace = grace
    server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)
