"""Assembles the application: routes, error responses, start and stop."""

from __future__ import annotations

import logging

from aiohttp import web
from aiohttp.typedefs import Handler

from sandbox import (
    attachments,
    control_api,
    controls_page,
    dialog,
    graph,
    graph_errors,
    limits,
    moving,
    phone_page,
    replay,
    rules,
    sdk,
    subscriptions,
    templates_control,
    verification,
)
from sandbox.callbacks import Outbox
from sandbox.callers import refuse_strangers
from sandbox.control_api import ControlError, is_control
from sandbox.dispatch import Dispatcher
from sandbox.graph_errors import GraphError
from sandbox.journal import Journal
from sandbox.keys import DISPATCHER, NETWORK, OUTBOX, REVIEWER, SETTINGS, TIMETABLE
from sandbox.network import Network
from sandbox.settings import Settings
from sandbox.templates_review import Reviewer
from sandbox.timetable import Timetable

log = logging.getLogger(__name__)
MAX_BODY = 4 * 1024 * 1024


def build(settings: Settings) -> tuple[web.Application, Journal]:
    """The application with its stored state.

    Raises JournalError when the data directory cannot be used.
    """
    journal = Journal(settings.data_dir)
    network = Network(journal)
    network.load(settings.compact_bytes)
    app = web.Application(middlewares=[_answer_errors], client_max_size=MAX_BODY)
    app[SETTINGS], app[NETWORK] = settings, network
    app[TIMETABLE] = Timetable()
    app[OUTBOX] = Outbox(network, settings, app[TIMETABLE])
    app[DISPATCHER] = Dispatcher(network, app[OUTBOX], app[TIMETABLE], settings.callback_url)
    app[REVIEWER] = Reviewer(network, app[DISPATCHER].announce_recorded, app[TIMETABLE])
    # Fixed paths come first, because Graph paths begin with an arbitrary id.
    control_api.add_routes(app)
    rules.add_routes(app)
    replay.add_routes(app)
    templates_control.add_routes(app)
    subscriptions.add_routes(app)
    moving.add_routes(app)
    limits.add_routes(app)
    phone_page.add_routes(app)
    controls_page.add_routes(app)
    attachments.add_routes(app)
    sdk.add_routes(app)
    dialog.add_routes(app)
    verification.add_routes(app)
    graph.add_routes(app)
    app.on_startup.append(_start)
    app.on_cleanup.append(_stop)
    return app, journal


async def _start(app: web.Application) -> None:
    await app[OUTBOX].client.open()
    app[DISPATCHER].resume()
    app[REVIEWER].resume()


async def _stop(app: web.Application) -> None:
    app[TIMETABLE].close()
    await app[OUTBOX].close()


@web.middleware
async def _answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every error is answered in JSON: Meta's shape on Graph paths, a message on control paths."""
    try:
        refuse_strangers(request)
        return await handler(request)
    except (GraphError, ControlError) as error:
        return web.json_response(error.body(), status=error.status)
    except web.HTTPException as error:
        return _protocol_error(request, error)
    except Exception:
        log.exception("%s %s failed", request.method, request.path)
        body = (
            ControlError(500, "internal error").body()
            if is_control(request)
            else graph_errors.unknown().body()
        )
        return web.json_response(body, status=500)


def _protocol_error(request: web.Request, error: web.HTTPException) -> web.Response:
    if is_control(request):
        answer = web.json_response(
            ControlError(error.status, error.reason).body(), status=error.status
        )
    elif error.status == 413:  # noqa: PLR2004 - payload too large
        answer = web.json_response(
            graph_errors.parameter("Request entity too large").body(), status=413
        )
    elif error.status == 405:  # noqa: PLR2004 - method not allowed
        unsupported = graph_errors.no_such_object(
            request.method, request.path.strip("/").partition("/")[0]
        )
        answer = web.json_response(unsupported.body(), status=unsupported.status)
    else:
        missing = graph_errors.unknown_path(request.path)
        answer = web.json_response(missing.body(), status=missing.status)
    if "Allow" in error.headers:
        answer.headers["Allow"] = error.headers["Allow"]
    return answer
