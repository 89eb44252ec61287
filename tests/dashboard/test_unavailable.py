"""What counts as a database that cannot be read."""

import pytest
from flask import Flask
from peewee import IntegrityError, InterfaceError, OperationalError

from dashboard.unavailable import show_broken
from dashboard.urls import blueprint


@pytest.fixture
def pages() -> Flask:
    app = Flask("pages")
    app.register_blueprint(blueprint)
    return app


@pytest.mark.parametrize("error", [OperationalError("locked"), InterfaceError("closed")])
def test_a_database_that_does_not_answer_is_said_without_a_session_too(
    pages: Flask, error: Exception
) -> None:
    with pages.test_request_context("/dashboard/keys"):
        answer = show_broken(error)
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0
    shown = answer.get_data(as_text=True)
    assert "Load again" in shown
    assert "Sign out" not in shown


def test_a_mistake_of_ours_is_not_blamed_on_the_database(pages: Flask) -> None:
    with pages.test_request_context("/dashboard/keys"), pytest.raises(IntegrityError):
        show_broken(IntegrityError("UNIQUE constraint failed"))
