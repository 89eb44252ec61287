"""The code of two releases beside each other: the latest one, and this working tree as the next one.

Both run in the environment of the tests. The latest release is the last tag ``v*``, or the tag or commit in
UPGRADE_FROM. Before the first tag it is this working tree. The next release always has one more migration.
"""

import os
import shutil
import subprocess
from pathlib import Path

from contract_tests.commands import ROOT

PACKAGES = (
    "dashboard",
    "gateway",
    "handlers",
    "models",
    "networks",
    "resources",
    "services",
    "tasks",
    "webhooks",
)
VENDORED = "dashboard/static/vendored"
NEXT_MIGRATION = "9999_next_release"
# What a release may do while the one before it runs: add columns, tables and indexes.
EXPAND = '''"""A column, a table and an index of the next release."""

STATEMENTS = (
    "ALTER TABLE message ADD COLUMN of_next_release TEXT",
    "ALTER TABLE delivery ADD COLUMN of_next_release BIGINT NOT NULL DEFAULT 0",
    "CREATE TABLE of_next_release (id TEXT NOT NULL PRIMARY KEY)",
    "CREATE INDEX message_of_next_release ON message (of_next_release)",
)


def up(_migrator, db):
    db.execute_sql("SELECT COUNT(*) FROM message").fetchone()
    for statement in STATEMENTS:
        db.execute_sql(statement)
'''


def latest_release(folder: Path) -> Path:
    """The code of the latest release, in this new folder."""
    name = os.environ.get("UPGRADE_FROM") or _last_tag()
    if not name:
        return _working_tree(folder)
    archive = subprocess.run(
        ["git", "archive", "--format=tar", name], cwd=ROOT, capture_output=True, check=True
    )
    folder.mkdir()
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
    # Not in the repository, and the same for both.
    shutil.copytree(ROOT / VENDORED, folder / VENDORED)
    return folder


def next_release(folder: Path) -> Path:
    """The code of this working tree and one more migration, in this new folder."""
    _working_tree(folder)
    (folder / "models" / "migrations" / f"{NEXT_MIGRATION}.py").write_text(EXPAND)
    return folder


def _last_tag() -> str:
    """The last tag of a release. Empty where there is none, or no repository."""
    command = ["git", "describe", "--tags", "--abbrev=0", "--match", "v*"]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


def _working_tree(folder: Path) -> Path:
    folder.mkdir()
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "openapi.yaml", folder)
    return folder
