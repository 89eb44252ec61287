"""A request is shown by its route, never by its path."""

import pytest

from gateway.api.routes import UNKNOWN, Routes

ROUTES = Routes(
    [
        "/api/numbers",
        "/api/messages/{message_id}",
        "/api/messages/send",
        "/connect/<slug>",
        "/dashboard/static/<path:filename>",
    ]
)


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/api/numbers", "/api/numbers"),
        ("/api/messages/msg_1", "/api/messages/{message_id}"),
        ("/connect/acme", "/connect/<slug>"),
        ("/dashboard/static/a/b.css", "/dashboard/static/<path:filename>"),
    ],
)
def test_a_path_has_the_template_of_its_route(path: str, template: str) -> None:
    assert ROUTES.template_of(path) == template


def test_a_route_without_parameters_comes_before_one_with() -> None:
    assert ROUTES.template_of("/api/messages/send") == "/api/messages/send"


@pytest.mark.parametrize(
    "path", ["/", "/connect/", "/connect/acme/x", "/api/numbers/", "/apixnumbers"]
)
def test_a_path_that_is_no_route_has_none(path: str) -> None:
    assert ROUTES.template_of(path) == UNKNOWN
