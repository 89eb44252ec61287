"""References to decisions resolve, and the decisions stay few and short."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/decisions"
# "ADR 6", or "docs/decisions/0006-the-engine-and-the-queue.md", or the start of such a path.
POINTER = re.compile(r"\bADR (\d+)|\bdecisions/(\d{4}[\w-]*)")
# A newcomer reads all of them.
MOST, MOST_WORDS = 25, 310
# The list of disabled linter rules and their reasons may be longer.
LONGER = {"0038-findings-of-linters-that-stay.md": 450}


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


def test_every_pointer_to_a_decision_leads_to_one() -> None:
    names = [path.name for path in _decisions()]
    pointers = _pointers()
    assert pointers
    lost = {start for start in pointers if not any(name.startswith(start) for name in names)}
    assert lost == set()


def test_the_decisions_stay_few_and_short() -> None:
    words = {path.name: len(path.read_text(encoding="utf-8").split()) for path in _decisions()}
    assert len(words) <= MOST
    assert {n: w for n, w in words.items() if w > LONGER.get(n, MOST_WORDS)} == {}
