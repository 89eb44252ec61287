"""docs/architecture.md, "One request", names exactly the modules that a send enters."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A newcomer reads all of them, so the number grows only if a send does more.
MOST = 38
TEST = "tests/structure/test_one_request.py"


def _documented() -> list[str]:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = text.partition("## One request\n")[2].partition("\n## ")[0]
    return sorted(set(re.findall(r"`((?:\w+/)+\w+\.py)`", section)) - {TEST})


def _entered(folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.structure.traced_send"],
        cwd=ROOT,
        # The watchdog is no part of a request.
        env=os.environ | {"GATEWAY_DATA_DIR": str(folder), "GATEWAY_WATCHDOG_SECONDS": "0"},
        stdout=subprocess.PIPE,
        check=True,
        timeout=120,
    )
    told = json.loads(done.stdout)
    assert set(told["statuses"]) == {200}
    return list(told["modules"])


def test_a_send_enters_the_modules_that_the_documentation_names(tmp_path: Path) -> None:
    entered, documented = _entered(tmp_path), _documented()
    assert documented == sorted(entered)
    assert len(entered) <= MOST
