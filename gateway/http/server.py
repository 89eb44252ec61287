"""The HTTP server: uvicorn, which lets running requests finish before it stops."""

import asyncio
import sys
import time
from typing import Any

import uvicorn

from gateway.http.connections import EDGE, GatewayProtocol
from gateway.ops.metrics import share
from gateway.settings import Settings

# As uvicorn has it.
STARTUP_FAILURE = 3
APPLICATION = "gateway.api.app:create_app"
# How long a connection may be idle between two requests. nginx keeps one to an upstream for 60 s: were this
# shorter, a request could come when its connection is closed.
IDLE_SECONDS = 75
# What a stop gives running requests above the time that the network may take.
GRACE_SECONDS = 5
# What a request has to answer after the grace is over, before uvicorn closes its connection.
CANCEL_SECONDS = 1
POLL_SECONDS = 0.02
# One of several processes that is silent for so long is killed and started again. A start takes some seconds
# of silence on a busy machine.
SILENCE_SECONDS = 20


class Server(uvicorn.Server):
    """Stops in two steps: while requests run, new ones get 503; then uvicorn closes what is left."""

    grace: float = GRACE_SECONDS

    async def shutdown(self, sockets: Any = None) -> None:
        """Let running requests finish, at most for ``grace`` seconds."""
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
        "timeout_keep_alive": IDLE_SECONDS,
        "timeout_worker_healthcheck": SILENCE_SECONDS,
    }
    if settings.workers > 1:
        # While one stops, the others accept new connections.
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
