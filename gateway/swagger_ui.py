"""Swagger UI, below /api/ui/."""

from connexion.middleware.swagger_ui import SwaggerUIMiddleware
from connexion.options import SwaggerUIOptions
from starlette.types import Receive, Scope, Send

PATH = "/api/ui"
# The contract is served as it is written (gateway.contract); Connexion would resolve it.
OPTIONS = SwaggerUIOptions(
    serve_spec=False,
    swagger_ui_config={"persistAuthorization": True, "validatorUrl": None},
)


class SwaggerUi(SwaggerUIMiddleware):
    """Connexion's, which would ask its routers about every request of the service."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        is_ours = scope["type"] == "http" and f"{scope['path']}/".startswith(f"{PATH}/")
        await (super().__call__ if is_ours else self.app)(scope, receive, send)
