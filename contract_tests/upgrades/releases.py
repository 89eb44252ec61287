"""The code of two releases beside each other: the latest one, and this working tree as the next one.

Both run in the environment of the tests. UPGRADE_FROM names another release by its tag or commit. A clone
without the history starts from this working tree. The next release always has one more migration.
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
# The commit of 1.0.0, because tags do not come with every clone.
LATEST = "8040ee4f1912860d2615382a4b25f4b49fa8368f"
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
    name = os.environ.get("UPGRADE_FROM") or LATEST
    known = subprocess.run(
        ["git", "cat-file", "-e", name], cwd=ROOT, capture_output=True, check=False
    )
    if known.returncode and name == LATEST:
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


def _working_tree(folder: Path) -> Path:
    folder.mkdir()
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "openapi.yaml", folder)
    return folder
