"""Compares every lock file with the databases of known vulnerabilities: ``make audit``.

pip-audit asks osv.dev, npm asks its registry. Each database first gets a question about an old vulnerability:
mirrors of registries often answer every question with nothing. The last line names what was not checked.
The exit status is 1 if a lock has a known vulnerability, with ``--strict`` 2 if something was not checked.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PIP_AUDIT = (
    *(
        sys.executable,
        "-m",
        "pip_audit",
        "--no-deps",
        "--disable-pip",
        "--vulnerability-service=osv",
    ),
    *("--format=json", "--progress-spinner=off", "--requirement"),
)
NPM_AUDIT = ("npm", "audit", "--package-lock-only", "--json")
# Versions with vulnerabilities of 2020, which every database knows.
OLD_PYTHON = "jinja2==2.11.2\n"
OLD_PACKAGE = {"name": "old", "dependencies": {"minimist": "0.0.8"}}
OLD_NODE = {
    "name": "old",
    "lockfileVersion": 3,
    "packages": {"": OLD_PACKAGE, "node_modules/minimist": {"version": "0.0.8"}},
}
FOUND, UNCHECKED = 1, 2
# Runs a command in a folder, and returns its output and its errors.
Run = Callable[[Sequence[str | Path], Path], tuple[str, str]]


class NotCheckedError(Exception):
    """A database did not answer, or does not know what every database knows. The text is the reason."""


def locks() -> tuple[list[Path], list[Path]]:
    """The locks of Python and of Node.js in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "*requirements*.lock", "*package-lock.json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [ROOT / name for name in listed.stdout.split()]
    return [p for p in paths if p.suffix == ".lock"], [p for p in paths if p.suffix == ".json"]


def run(command: Sequence[str | Path], folder: Path) -> tuple[str, str]:
    """Run a command, which fails for findings too."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def audit_python(lock: Path, run: Run = run) -> Iterator[str]:
    """One line for each vulnerability of a lock. Raises NotCheckedError."""
    report = _report(*run([*PIP_AUDIT, lock], lock.parent))
    for package in report["dependencies"]:
        if reason := package.get("skip_reason"):
            raise NotCheckedError(reason)
        for found in package["vulns"]:
            names = ", ".join([found["id"], *found["aliases"]])
            fixed = ", ".join(found["fix_versions"]) or "no version"
            yield f"{package['name']} {package['version']}: {names}; fixed in {fixed}"


def audit_node(lock: Path, run: Run = run) -> Iterator[str]:
    """Like audit_python()."""
    report = _report(*run(NPM_AUDIT, lock.parent))
    if "vulnerabilities" not in report:
        raise NotCheckedError(report.get("message", "no report"))
    for name, package in report["vulnerabilities"].items():
        # A text is the name of a package whose vulnerability this one inherits.
        for found in (via for via in package["via"] if isinstance(via, dict)):
            yield f"{name} {found['range']}: {found['title']} ({found['severity']}), {found['url']}"


def _report(printed: str, said: str) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads(printed)
    except ValueError:
        raise NotCheckedError((said.strip().splitlines() or ["no output"])[-1]) from None
    return report


def check_databases(run: Run = run) -> Iterator[tuple[str, str]]:
    """The name of each database that cannot be used, and the reason."""
    with tempfile.TemporaryDirectory() as folder:
        python, node = Path(folder, "requirements.txt"), Path(folder, "package-lock.json")
        python.write_text(OLD_PYTHON)
        node.write_text(json.dumps(OLD_NODE))
        (node.parent / "package.json").write_text(json.dumps(OLD_PACKAGE))
        for name, audit, old in (("Python", audit_python, python), ("Node.js", audit_node, node)):
            try:
                if not list(audit(old, run)):
                    yield name, "it does not know an old vulnerability"
            except NotCheckedError as error:
                yield name, str(error)


def main(*options: str, run: Run = run) -> int:
    """Check all locks. Returns the exit status."""
    unusable = dict(check_databases(run))
    python, node = locks()
    findings, unchecked = 0, list[str]()
    for name, audit, paths in (("Python", audit_python, python), ("Node.js", audit_node, node)):
        for path in paths:
            lock, reason, lines = path.relative_to(ROOT).as_posix(), unusable.get(name), []
            if reason is None:
                try:
                    lines = list(audit(path, run))
                except NotCheckedError as error:
                    reason = str(error)
            if reason is not None:
                unchecked.append(f"{lock}: {reason}")
                continue
            findings += len(lines)
            print(*(f"{lock}: {line}" for line in lines or ["no known vulnerability"]), sep="\n")
    if findings:
        print(f"Known vulnerabilities: {findings}.")
    if unchecked:
        print(*(f"not checked: {line}" for line in unchecked), sep="\n")
    if findings:
        return FOUND
    return UNCHECKED if unchecked and "--strict" in options else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
