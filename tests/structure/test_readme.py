"""The README begins with what a newcomer wants: a first message."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
# The most lines of the README up to the end of the first request.
FIRST_SEND = 40


def test_the_readme_begins_with_a_first_send() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if "/api/messages/send" in line)
    assert lines.index("```", start) < FIRST_SEND
