"""``make audit`` reports what it found, and never takes a silent database for a clean one."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tooling import audit

VULNERABILITY = {"id": "CVE-2020-28493", "aliases": ["GHSA-g3rq"], "fix_versions": ["2.11.3"]}
CLEAN: dict[str, Any] = {"dependencies": [{"name": "yarl", "version": "1.24", "vulns": []}]}
FOUND = {"dependencies": [{"name": "jinja2", "version": "2.11.2", "vulns": [VULNERABILITY]}]}
ADVISORY = {
    "range": "<0.2.1",
    "title": "Pollution",
    "severity": "moderate",
    "url": "https://a.test",
}
NODE_CLEAN: dict[str, Any] = {"vulnerabilities": {}}
NODE_FOUND = {
    "vulnerabilities": {"minimist": {"via": [ADVISORY]}, "mkdirp": {"via": ["minimist"]}},
}
NODE_AWAY = {"message": "request failed, reason: connect ECONNREFUSED", "error": {"summary": ""}}


class Databases:
    """The answers to the question about an old vulnerability, and about the locks."""

    def __init__(self, old: Mapping[str, Any], locks: Mapping[str, Any]) -> None:
        self._answers = old, locks

    def run(self, command: Sequence[str | Path], folder: Path) -> tuple[str, str]:
        """See audit.run."""
        answer = self._answers[folder == audit.ROOT or audit.ROOT in folder.parents]
        tool = "npm" if command[0] == "npm" else "pip"
        return (json.dumps(answer[tool]), "") if answer[tool] else ("", "Traceback\nNo route")


KNOWN = {"pip": FOUND, "npm": NODE_FOUND}
NOTHING = {"pip": CLEAN, "npm": NODE_CLEAN}


@pytest.mark.parametrize(
    ("old", "locks", "statuses", "unchecked"),
    [
        (KNOWN, NOTHING, (0, 0), ""),
        (KNOWN, {"pip": FOUND, "npm": NODE_CLEAN}, (1, 1), ""),
        (KNOWN, {"pip": CLEAN, "npm": NODE_FOUND}, (1, 1), ""),
        ({"pip": None, "npm": NODE_AWAY}, NOTHING, (0, 2), "requirements package-lock"),
        (NOTHING, NOTHING, (0, 2), "requirements package-lock"),
        (KNOWN, {"pip": None, "npm": NODE_FOUND}, (1, 1), "requirements"),
        (
            KNOWN,
            {"pip": {"dependencies": [{"name": "yarl", "skip_reason": "?"}]}, "npm": NODE_CLEAN},
            (0, 2),
            "requirements",
        ),
    ],
    ids=["clean", "python", "node", "away", "mirror that knows nothing", "breaks down", "skipped"],
)
def test_what_was_not_checked_is_named_last(
    old: Mapping[str, Any],
    locks: Mapping[str, Any],
    statuses: tuple[int, int],
    unchecked: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    databases = Databases(old, locks)
    assert (audit.main(run=databases.run), audit.main("--strict", run=databases.run)) == statuses
    printed = capsys.readouterr().out.splitlines()
    named = {line.split(": ")[1] for line in printed if line.startswith("not checked: ")}
    python, node = audit.locks()
    assert node
    assert len(python) > len(node)
    for kind, paths in (("requirements", python), ("package-lock", node)):
        missing = {path.relative_to(audit.ROOT).as_posix() for path in paths}
        assert (missing <= named) is (kind in unchecked)
    assert printed[-1].startswith("not checked: ") is bool(unchecked)


def test_the_sample_workflow_is_valid_and_fails_if_something_was_not_checked() -> None:
    workflow = audit.ROOT / "deploy" / "workflow.yml"
    schema = ["--builtin-schema", "vendor.github-workflows"]
    command = ["-m", "check_jsonschema", *schema, str(workflow)]
    done = subprocess.run([sys.executable, *command], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "run: make audit ARGS=--strict" in workflow.read_text()
