"""A public URL with a path: requests come with that path, or a proxy has removed it."""

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from tests.asgi import ask, edge_of, http_scope

pytestmark = pytest.mark.usefixtures("state")


async def _path(scope: Scope, receive: Receive, send: Send) -> None:
    """Responds with the path of the request."""
    await PlainTextResponse(scope["path"])(scope, receive, send)


@pytest.mark.parametrize(
    ("root", "asked", "served"),
    [
        ("/messaging", "/messaging/api/webhooks", "/api/webhooks"),
        ("/messaging", "/api/webhooks", "/api/webhooks"),
        ("/messaging", "/messaging/dashboard/", "/dashboard/"),
        ("/messaging", "/messaging/healthz", "/healthz"),
        ("/messaging", "/healthz", "/healthz"),
        ("/messaging", "/messaging", "/"),
        ("/messaging", "/messaging/", "/"),
        ("/a b", "/a b/dashboard/", "/dashboard/"),
        # A known path stays, even if it begins with the public path.
        ("/api", "/api/webhooks", "/api/webhooks"),
        ("/api", "/api/api/webhooks", "/api/webhooks"),
        ("/dashboard", "/dashboard/dashboard/", "/dashboard/"),
        # Only the first occurrence is the public path, and only as a whole.
        ("/messaging", "/messaging/messaging/healthz", "/messaging/healthz"),
        ("/messaging", "/messaging-2/dashboard/", "/messaging-2/dashboard/"),
        ("", "/messaging/dashboard/", "/messaging/dashboard/"),
    ],
)
def test_the_public_path_is_removed_from_a_request(root: str, asked: str, served: str) -> None:
    answered = ask(edge_of(_path, root=root), http_scope("GET", asked))
    assert answered is not None
    assert (answered.status, answered.body.decode()) == (200, served)


def test_an_unknown_operation_below_the_public_path_is_not_found() -> None:
    answered = ask(edge_of(_path, root="/messaging"), http_scope("GET", "/messaging/api/none"))
    assert answered is not None
    assert (answered.status, answered.error["code"]) == (404, "NOT_FOUND")
