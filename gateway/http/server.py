"""The HTTP server: uvicorn, which lets running requests finish before it stops."""

import asyncio
import socket
import sys
import time
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from gateway.http.connections import EDGE, GatewayProtocol
from gateway.ops.metrics import share
from gateway.ops.watchdog import STOPPING, report_state
from gateway.settings import Settings

BOTH_FAMILIES = "::"
# The same type as uvicorn's.
STARTUP_FAILURE = 3
APPLICATION = "gateway.api.app:create_app"
# Seconds that a stop gives running requests beyond the network's timeout.
GRACE_SECONDS = 5
# Seconds after the grace period until uvicorn closes a request's connection.
CANCEL_SECONDS = 1
POLL_SECONDS = 0.02
# Seconds of silence after which one of several processes is killed and restarted. A start takes some
# seconds on a busy machine.
SILENCE_SECONDS = 20


def _bind(config: uvicorn.Config) -> socket.socket:
    """Bind, without listening yet. At ``::`` for IPv4, too: the system's default may be IPv6 alone."""
    if config.host != BOTH_FAMILIES:
        return config.bind_socket()
    bound = socket.socket(socket.AF_INET6)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    bound.bind((config.host, config.port))
    bound.set_inheritable(True)
    return bound


class Server(uvicorn.Server):
    """Stops in two steps. While requests run, new ones get 503. Then uvicorn closes the rest."""

    grace: float = GRACE_SECONDS

    async def shutdown(self, sockets: Any = None) -> None:
        """Let running requests finish, for at most ``grace`` seconds."""
        report_state(STOPPING)
        edge = self.lifespan.state[EDGE]
        edge.stop()
        deadline = time.monotonic() + self.grace
        while (  # noqa: ASYNC110 - a second signal sets a flag only
            edge.running and time.monotonic() < deadline and not self.force_exit
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
        "timeout_keep_alive": settings.idle_seconds,
        "timeout_worker_healthcheck": SILENCE_SECONDS,
    }
    if settings.workers > 1:
        # While one stops, the others accept new connections.
        options |= {"workers": settings.workers, "timeout_graceful_shutdown": round(grace)}
        share(settings.data_dir / "metrics" / str(port))
        config = uvicorn.Config(APPLICATION, **options)
        Multiprocess(config, sockets=[_bind(config)]).run()
        return
    config = uvicorn.Config(APPLICATION, timeout_graceful_shutdown=CANCEL_SECONDS, **options)
    server = Server(config)
    server.grace = grace
    # Other addresses are asyncio's: a name may have several.
    server.run([_bind(config)] if host == BOTH_FAMILIES else None)
    if not server.started:
        sys.exit(STARTUP_FAILURE)
