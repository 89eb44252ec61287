"""One ``gateway up`` for each DATA_DIR."""

import re

import click
import pytest

from gateway.cli import up_locks
from tests.conftest import Configure
from tests.programs import begun

CLAIM = """
import time
from gateway.cli import up_locks
from gateway.settings import get_settings

with up_locks.announced(get_settings()):
    print("claimed", flush=True)
    time.sleep(60)
"""


def test_a_data_directory_is_locked_until_its_process_ends(configure: Configure) -> None:
    settings = configure()
    settings.data_dir.mkdir()
    with begun("claimed", "-c", CLAIM):
        taken = pytest.raises(click.ClickException, match=re.escape(str(settings.data_dir)))
        with taken, up_locks.announced(settings):
            pass
    with up_locks.announced(settings):
        assert (settings.data_dir / up_locks.FILE).exists()
    assert not (settings.data_dir / up_locks.FILE).exists()
