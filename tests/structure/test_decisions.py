"""References to decisions resolve inside the repository."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/decisions"
# "ADR 6", or "docs/decisions/0006-the-engine-and-the-queue.md", or the start of such a path.
POINTER = re.compile(r"\bADR (\d+)|\bdecisions/(\d{4}[\w-]*)")
# References to documents that are not in the repository. The number of such a decision looks like the number
# of a page in docs/decisions.
FOREIGN = re.compile(
    r"\bdecisions? \d+|\bdesign, section|[(]design,|(?:[(\"]|\bthe )specification\b", re.IGNORECASE
)
# A Markdown link may have such a text, because it leads to the page.
LINK = re.compile(r"\[[^\]]*\]\((?:decisions/)?\d{4}-[^)]*\)")
LINE_BREAK = re.compile(r"\s*\n\s*(?:# ?)?")
PROSE = {".py", ".md", ".html", ".yaml", ".yml", ".toml", ""}


def _decisions() -> list[Path]:
    return sorted(FOLDER.glob("[0-9]*.md"))


def _pointers() -> set[str]:
    """The numbers of the decisions that the repository refers to."""
    tracked = subprocess.run(
        ["git", "grep", "-I", "-h", "-E", r"ADR [0-9]|decisions/[0-9]"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = POINTER.findall(tracked.stdout)
    return {f"{int(number):04}-" if number else name for number, name in found}


def _prose() -> list[str]:
    """The tracked files with docstrings, comments or text."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    paths = [name for name in tracked.stdout.split("\0") if Path(name).suffix in PROSE]
    return [path for path in paths if (ROOT / path).is_file()]


def _text(path: str) -> str:
    """A file in one line, without the marks of comments and without links to decisions."""
    return LINK.sub("", LINE_BREAK.sub(" ", (ROOT / path).read_text(encoding="utf-8")))


def test_every_pointer_to_a_decision_leads_to_one() -> None:
    names = [path.name for path in _decisions()]
    pointers = _pointers()
    assert pointers
    lost = {start for start in pointers if not any(name.startswith(start) for name in names)}
    assert lost == set()


def test_no_reference_leads_to_a_document_outside_of_the_repository() -> None:
    lost = [f"{path}: {found}" for path in _prose() for found in FOREIGN.findall(_text(path))]
    assert lost == []
