"""The web application: Connexion's AsyncApp, built from the contract, next to Flask's pages."""

import asyncio
import gc
import importlib
import inspect
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast
from urllib.parse import unquote

import orjson
from a2wsgi import WSGIMiddleware
from anyio import to_thread
from connexion import AsyncApp
from connexion.middleware.context import ContextMiddleware
from connexion.middleware.lifespan import LifespanMiddleware
from connexion.spec import OpenAPISpecification
from flask import Flask
from starlette.types import ASGIApp

from dashboard import api_calls, connect, guard, overview, reference, requests, urls
from gateway.api import contract
from gateway.api.checks import VALIDATORS, JoinedLists, Routing
from gateway.api.content_types import Validation
from gateway.api.operations import LIVE, Part
from gateway.http.access_log import RequestLog
from gateway.http.admission import MEMORY, RateLimiter, refusal_of, session_of
from gateway.http.edge import Edge, Operations
from gateway.http.endpoints import intake, live
from gateway.http.in_process import InProcess
from gateway.ops import health, metrics, tracing
from gateway.ops.logs import configure_logging
from gateway.ops.rounds import Rounds
from gateway.ops.watchdog import Watchdog
from gateway.settings import Settings, get_settings
from gateway.storage import be_sole_web, connect_state, leave_state
from models.database import commits, known_time, shared_commits
from networks.registry import close_all
from services import sending

logger = logging.getLogger(__name__)

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
# Seconds that the end of a process may take beyond the longest call of the network.
STOP_SECONDS = 10
# Threads that render pages. Probes have their own, so that they never wait for pages.
PAGE_THREADS, PROBE_THREADS = 10, 2
MOST_FORM_PARTS = 16
# Connexion's, without those that answer errors, which the edge does, show Swagger UI, or check responses. The
# edge has also found the operation, and the caller by its key.
MIDDLEWARES = [Routing, Validation, LifespanMiddleware, ContextMiddleware]
# By this schema, Connexion would validate the contract at each start, which took a fifth of it. The contract
# is a part of the release: `make lint` and a test validate it, the test with Connexion's validator.
OpenAPISpecification.openapi_schema = {}


def _flask_app() -> Flask:
    """The routes outside the contract. The edge handles their errors."""
    app = Flask("gateway")
    app.config |= {"PROPAGATE_EXCEPTIONS": True, "TRAP_HTTP_EXCEPTIONS": True}
    # Werkzeug keeps 500 kB of each file in memory. The largest form with a file has eight fields.
    app.config["MAX_FORM_PARTS"] = MOST_FORM_PARTS
    for module in (health, metrics, contract, reference, connect, urls):
        app.register_blueprint(module.blueprint)
    return app


def handler_of(operation_id: str) -> Callable[..., Any]:
    """Tag ``messages`` and operationId ``sendMessage`` name handlers.messages.send_message."""
    _, described = contract.operations()[operation_id]
    module = importlib.import_module(f"handlers.{described['tags'][0]}")
    handler: Any = getattr(module, _CAPITAL.sub("_", operation_id).lower())
    # Connexion asks for it with each request (inspect finds it here at once).
    handler.__signature__ = inspect.signature(handler)
    return cast("Callable[..., Any]", handler)


def _api(request_log: RequestLog, calls: InProcess) -> AsyncApp:
    """The application of the contract: Connexion routes, authenticates, validates and calls the handlers."""
    app = AsyncApp(
        "gateway",
        lifespan=partial(_lifespan, request_log, calls),
        middlewares=MIDDLEWARES,
        # numberId is the argument number_id, type is type_.
        pythonic_params=True,
        # Connexion only needs dumps().
        jsonifier=cast("Any", orjson),
        resolver=handler_of,
        uri_parser_class=cast("Any", JoinedLists),
        validator_map=VALIDATORS,
    )
    app.add_api(contract.load())
    return app


@asynccontextmanager
async def _lifespan(request_log: RequestLog, calls: InProcess, _app: object) -> AsyncIterator[None]:
    """Limit the threads of plain handlers. Write pending records before the process ends."""
    settings = get_settings()
    calls.loop = asyncio.get_running_loop()
    watchdog = _watchdog(settings, calls.loop)
    watchdog.start()
    to_thread.current_default_thread_limiter().total_tokens = settings.threads
    yield
    watchdog.end_within(settings.network_timeout + STOP_SECONDS)
    await sending.finish(settings.network_timeout)
    await close_all()
    await request_log.finish()
    await to_thread.run_sync(leave_state)
    tracing.stop()


def _watchdog(settings: Settings, loop: asyncio.AbstractEventLoop) -> Watchdog:
    """Watches everything in which a web process can hang."""
    watchdog = Watchdog(settings.watchdog_seconds)
    watchdog.watch_loop("the event loop", loop)
    watchdog.watch("the writer of the database", commits.since)
    watchdog.watch("the writer of sends", shared_commits.since)
    return watchdog


def build_app(settings: Settings) -> ASGIApp:
    """The ASGI application of a process whose database and queue are connected."""
    flask_app = _flask_app()
    limiter = RateLimiter(settings.plan_limits, settings.rate_limit_url)
    request_log = RequestLog(is_on=settings.request_log_days > 0)
    flask_app.extensions[overview.EXTENSION] = limiter.look
    routes = {name: route for name, (route, _) in contract.operations().items()}
    flask_app.extensions[requests.EXTENSION] = routes
    flask_app.extensions[guard.EXTENSION] = session_of
    flask_app.extensions[guard.REFUSAL] = refusal_of
    pages, uploads, probes = (
        cast("ASGIApp", WSGIMiddleware(cast("Any", flask_app.wsgi_app), workers=threads))
        for threads in (PAGE_THREADS, settings.transfers, PROBE_THREADS)
    )
    rules = [LIVE, *map(str, flask_app.url_map.iter_rules())]
    operations = Operations(contract.load(), rules)
    api = _api(request_log, calls := InProcess(operations, limiter))
    calls.part = api
    flask_app.extensions[api_calls.EXTENSION] = calls
    parts: dict[Part, ASGIApp] = {
        Part.API: api,
        Part.CALLBACK: intake,
        Part.PAGES: pages,
        Part.UPLOADS: uploads,
        Part.PROBES: health.with_health(probes),
        Part.LIVE: live,
    }
    root = unquote(settings.public_path)
    return Edge(parts, operations, limiter, settings.transfers, request_log, root)


def create_app() -> ASGIApp:
    """The application of this process, for uvicorn's ``factory``: the only process or one of several."""
    # Until all is built, as while modules are imported: most new objects are permanent.
    gc.disable()
    settings = get_settings()
    configure_logging(settings.log_format)
    tracing.start("web")
    connect_state(settings)
    clocks = Rounds(known_time.look, known_time.LOOK_SECONDS)
    clocks.name = "the comparison of clocks"
    clocks.run_once()
    clocks.start()
    if settings.rate_limit_url == MEMORY:
        be_sole_web(settings)
    app = build_app(settings)
    # Start-up objects are permanent, so the collector skips them. It also runs less often than after every
    # 700 new objects: a send creates about a thousand, nearly all without cycles.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()
    return app
