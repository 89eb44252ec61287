"""The web application: Connexion on Flask, built from the contract, behind the edge."""

import gc
from copy import deepcopy
from typing import NoReturn

from connexion.exceptions import ProblemException
from connexion.middleware import ConnexionMiddleware
from connexion.middleware.exceptions import ExceptionMiddleware
from connexion.middleware.response_validation import ResponseValidationMiddleware
from connexion.middleware.security import SecurityMiddleware
from flask import Flask, Response, g
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp
from werkzeug.exceptions import HTTPException as WerkzeugException
from werkzeug.exceptions import MethodNotAllowed

from dashboard import connect, limit_use, reference, urls
from gateway.api import contract
from gateway.api.bridge import Bridge
from gateway.api.checks import Checks
from gateway.api.resolver import TagResolver
from gateway.api.routes import Routes
from gateway.api.validation import MEDIA_TYPE
from gateway.api.views import Views
from gateway.http import errors, intake
from gateway.http.auth import SCHEME, BearerSecurity
from gateway.http.edge import Edge
from gateway.http.methods import MethodGuard
from gateway.http.observation import Observed, words_of
from gateway.http.rate_limit import MEMORY, RateLimiter
from gateway.http.transfers import TransferSlots
from gateway.ops import health, metrics, tracing
from gateway.ops.logs import configure_logging, current_request
from gateway.ops.one_core import keep_to_one_core
from gateway.ops.tracing import Traced
from gateway.settings import Settings, get_settings
from gateway.state import be_sole_web, connect_state
from handlers.errors import ApiError
from tasks import spans


def _flask_response(error: ApiError) -> Response:
    answer = errors.from_api_error(error)
    return Response(answer.body, answer.status, answer.headers, content_type=MEDIA_TYPE)


def _pass_on_405(error: MethodNotAllowed) -> NoReturn:
    """Connexion would pass on the status alone, without the methods that are allowed."""
    allowed = ", ".join(sorted(error.valid_methods or ()))
    raise HTTPException(405, headers={"Allow": allowed})


def _pass_on(error: WerkzeugException) -> NoReturn:
    raise HTTPException(error.code or 500, detail=error.description)


def _note_facts(response: Response) -> Response:
    """Hand what a handler noted (flask.g.facts) to the line of its request."""
    if (request := current_request.get()) is not None:
        request.facts.update(g.get("facts", {}))
    return response


def _flask_app() -> Flask:
    """What is served beside the contract; errors pass through to Connexion, or to the edge."""
    app = Flask("gateway")
    app.config |= {"PROPAGATE_EXCEPTIONS": True, "TRAP_HTTP_EXCEPTIONS": True}
    app.register_error_handler(ApiError, _flask_response)
    app.register_error_handler(MethodNotAllowed, _pass_on_405)
    app.register_error_handler(WerkzeugException, _pass_on)
    app.after_request(_note_facts)
    for blueprint in (
        health.blueprint,
        metrics.blueprint,
        contract.blueprint,
        reference.blueprint,
        connect.blueprint,
        urls.blueprint,
    ):
        app.register_blueprint(blueprint)
    return app


def _by_contract(app: ASGIApp, *, validate_responses: bool) -> ConnexionMiddleware:
    """``app`` behind Connexion's checks. Routing is not among them: MethodGuard has done it."""
    checks = [SecurityMiddleware, Checks]
    if validate_responses:
        checks.append(ResponseValidationMiddleware)
    connexion = ConnexionMiddleware(
        app,
        import_name="gateway",
        middlewares=[ExceptionMiddleware, *checks],
        resolver=TagResolver(),
        validate_responses=validate_responses,
        security_map={SCHEME: BearerSecurity},
    )
    for framework_error in (HTTPException, ProblemException):
        connexion.add_error_handler(framework_error, errors.render_http_error)
    connexion.add_error_handler(ApiError, errors.render_api_error)
    connexion.add_error_handler(Exception, errors.render_crash)
    connexion.add_api(deepcopy(contract.load()))
    return connexion


def build_app(settings: Settings, *, validate_responses: bool = False) -> ASGIApp:
    """The ASGI application of a process whose database and queue are connected."""
    flask_app = _flask_app()
    # A view waits for the network, so the pool's size bounds how many sends are under way.
    views = Views(Bridge(flask_app.wsgi_app, settings.threads), flask_app)
    checked = _by_contract(views, validate_responses=validate_responses)
    limiter = RateLimiter(settings.plan_limits, settings.rate_limit_url)
    flask_app.extensions[limit_use.EXTENSION] = limiter.look
    guarded = intake.Intake(MethodGuard(checked, contract.load()))
    edge = Edge(guarded, limiter, TransferSlots(settings.transfers))
    # Connexion adds the contract's routes when it starts, so its paths are read from the contract.
    pages = [intake.PATH, *map(str, flask_app.url_map.iter_rules())]
    paths = contract.load()["paths"]
    observed = Observed(edge, words_of([*paths, *pages]))
    if not spans.are_gathered():
        return observed
    return Traced(observed, Routes([*(f"/api{path}" for path in paths), *pages]))


def create_app() -> ASGIApp:
    """The application of this process, as uvicorn's factory: one of several, or alone."""
    settings = get_settings()
    configure_logging(settings.log_format)
    tracing.start("web")
    connect_state(settings)
    if settings.rate_limit_url == MEMORY:
        be_sole_web(settings)
    app = build_app(settings)
    # What is there now stays. The collector need not look at it again.
    gc.freeze()
    if settings.one_core:
        keep_to_one_core()
    return app
