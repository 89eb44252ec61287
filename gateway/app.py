"""The web application: Connexion on Flask, built from the contract, behind the edge."""

from typing import Any, NoReturn

import orjson
from a2wsgi import WSGIMiddleware
from connexion import FlaskApp
from connexion.exceptions import ProblemException
from connexion.jsonifier import Jsonifier
from connexion.options import SwaggerUIOptions
from connexion.validators import VALIDATOR_MAP
from flask import Response, g
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp
from werkzeug.exceptions import MethodNotAllowed

from dashboard import connect, limit_use, urls
from gateway import contract, errors, health, metrics
from gateway.auth import SCHEME, BearerSecurity
from gateway.edge import Edge
from gateway.logs import current_request
from gateway.methods import MethodGuard
from gateway.observation import Observed, words_of
from gateway.rate_limit import RateLimiter
from gateway.resolver import TagResolver
from gateway.routes import Routes
from gateway.settings import Settings, get_settings
from gateway.state import connect_state
from gateway.tracing import Traced
from gateway.transfers import TransferSlots
from gateway.validation import (
    FORM_TYPE,
    MEDIA_TYPE,
    FormBodyValidator,
    JsonBodyValidator,
    ParameterValidator,
)
from handlers import network_callback
from handlers.errors import ApiError
from tasks import spans


class _CompactJson(Jsonifier):
    """JSON without white space."""

    def dumps(self, data: Any, **_: Any) -> str:
        return orjson.dumps(data).decode()


def _flask_response(error: ApiError) -> Response:
    answer = errors.from_api_error(error)
    return Response(answer.body, answer.status, answer.headers, content_type=MEDIA_TYPE)


def _pass_on_405(error: MethodNotAllowed) -> NoReturn:
    """Connexion would pass on the status alone, without the methods that are allowed."""
    allowed = ", ".join(sorted(error.valid_methods or ()))
    raise HTTPException(405, headers={"Allow": allowed})


def _note_facts(response: Response) -> Response:
    """Hand what a handler noted (flask.g.facts) to the line of its request."""
    if (request := current_request.get()) is not None:
        request.facts.update(g.get("facts", {}))
    return response


def build_app(settings: Settings, *, validate_responses: bool = False) -> ASGIApp:
    """The ASGI application of a process whose database and queue are connected."""
    connexion_app = FlaskApp(
        "gateway",
        specification_dir=contract.path().parent,
        resolver=TagResolver(),
        jsonifier=_CompactJson(),
        strict_validation=True,
        pythonic_params=True,
        validate_responses=validate_responses,
        validator_map={
            "body": VALIDATOR_MAP["body"]
            | {MEDIA_TYPE: JsonBodyValidator, FORM_TYPE: FormBodyValidator},
            "parameter": ParameterValidator,
        },
        security_map={SCHEME: BearerSecurity},
        # The contract is served as it is written (gateway.contract); Connexion would resolve it.
        swagger_ui_options=SwaggerUIOptions(
            serve_spec=False,
            swagger_ui_config={"persistAuthorization": True, "validatorUrl": None},
        ),
    )
    for framework_error in (HTTPException, ProblemException):
        connexion_app.add_error_handler(framework_error, errors.render_http_error)
    connexion_app.add_error_handler(ApiError, errors.render_api_error)
    connexion_app.add_error_handler(Exception, errors.render_crash)
    flask_app = connexion_app.app
    flask_app.register_error_handler(ApiError, _flask_response)
    flask_app.register_error_handler(MethodNotAllowed, _pass_on_405)
    flask_app.after_request(_note_facts)
    flask_app.register_blueprint(network_callback.blueprint)
    flask_app.register_blueprint(health.blueprint)
    flask_app.register_blueprint(metrics.blueprint)
    flask_app.register_blueprint(contract.blueprint)
    flask_app.register_blueprint(connect.blueprint)
    flask_app.register_blueprint(urls.blueprint)
    # A view waits for the network, so the pool's size bounds how many sends are under way.
    connexion_app._middleware_app.asgi_app = WSGIMiddleware(  # noqa: SLF001 - Connexion sets no size
        flask_app.wsgi_app, workers=settings.threads
    )
    connexion_app.add_api(contract.path().name)
    guarded = MethodGuard(connexion_app, contract.load())
    limiter = RateLimiter(settings.plan_limits, settings.rate_limit_url)
    flask_app.extensions[limit_use.EXTENSION] = limiter.look
    edge = Edge(guarded, limiter, TransferSlots(settings.transfers))
    # Connexion adds the contract's routes when it starts, so its paths are read from the contract.
    pages = ["/api/ui", *map(str, flask_app.url_map.iter_rules())]
    paths = contract.load()["paths"]
    observed = Observed(edge, words_of([*paths, *pages]))
    if not spans.are_gathered():
        return observed
    return Traced(observed, Routes([*(f"/api{path}" for path in paths), *pages]))


def create_app() -> ASGIApp:
    """The application of this process, as uvicorn's factory."""
    settings = get_settings()
    connect_state(settings)
    return build_app(settings)
