"""``gateway up`` prepares the database in a child while its parts load."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests.waiting import free_port

GATEWAY = (sys.executable, "-m", "gateway")
SECONDS = 60


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a gateway with an empty folder."""
    return {"PATH": os.environ["PATH"], "GATEWAY_DATA_DIR": str(tmp_path / "var")}


@pytest.mark.parametrize("part", ["web", "worker"])
def test_a_part_begins_when_the_descriptor_is_at_its_end(
    part: str, environment: dict[str, str]
) -> None:
    reading, writing = os.pipe()
    waiting = subprocess.Popen(
        [*GATEWAY, part, "--after", str(reading)],
        env=environment,
        pass_fds=[reading],
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(reading)
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(3)
    os.close(writing)
    _, said = waiting.communicate(timeout=SECONDS)
    assert waiting.returncode == 1
    assert "There is no database" in said


def test_a_database_that_cannot_be_used_ends_up_and_its_parts_with_one_line(
    environment: dict[str, str],
) -> None:
    url = f"postgresql://127.0.0.1:{free_port()}/none"
    ended = subprocess.run(
        [*GATEWAY, "up", "--network", "memory", "--port", str(free_port())],
        env=environment | {"GATEWAY_DATABASE_URL": url, "GATEWAY_SECRET_KEY": "x" * 32},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    [line] = ended.stderr.splitlines()
    assert line.startswith("Error: GATEWAY_DATABASE_URL")
