"""Opening the state of a part while servers come and go."""

import pytest
from peewee import OperationalError
from psycopg.errors import ConnectionTimeout

from gateway.cli import database
from gateway.cli.database import open_state
from gateway.settings import Settings
from gateway.storage import AwayError
from models.database import known_time


@pytest.fixture
def lost_between_two_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server goes away after the check of the migrations."""

    def look() -> None:
        raise OperationalError("no response") from ConnectionTimeout("no response")

    def keep(_: Settings, **_options: object) -> None:
        """The test is connected already."""

    monkeypatch.setattr(known_time, "look", look)
    monkeypatch.setattr(database, "connect_state", keep)
    monkeypatch.setattr(database, "_refuse_absent", keep)


@pytest.mark.usefixtures("state", "lost_between_two_queries")
def test_a_part_starts_although_the_database_goes_away_meanwhile() -> None:
    open_state(may_be_away=True)


@pytest.mark.usefixtures("state", "lost_between_two_queries")
def test_a_command_names_the_database_that_goes_away_meanwhile() -> None:
    with pytest.raises(AwayError, match="GATEWAY_DATABASE_URL"):
        open_state()
