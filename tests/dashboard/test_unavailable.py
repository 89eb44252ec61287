"""The page of an unreadable database, and the errors that lead to it."""

import pytest
from flask import Flask
from peewee import IntegrityError, InterfaceError, OperationalError

from dashboard.error_pages import show_broken
from dashboard.urls import blueprint


@pytest.fixture
def pages() -> Flask:
    app = Flask("pages")
    app.register_blueprint(blueprint)
    return app


@pytest.mark.parametrize("error", [OperationalError("locked"), InterfaceError("closed")])
def test_an_unreachable_database_is_reported_without_a_session_too(
    pages: Flask, error: Exception
) -> None:
    with pages.test_request_context("/dashboard/keys"):
        answer = show_broken(error)
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0
    shown = answer.get_data(as_text=True)
    assert "Load again" in shown
    assert "Sign out" not in shown


def test_a_programming_error_is_not_reported_as_a_database_error(pages: Flask) -> None:
    with pages.test_request_context("/dashboard/keys"), pytest.raises(IntegrityError):
        show_broken(IntegrityError("UNIQUE constraint failed"))
