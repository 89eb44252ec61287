"""The README, the changelog and the contributor's pages stay short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The maximum words of each page, code and tables included.
MOST = {
    "README.md": 500,
    "CONTRIBUTING.md": 720,
    "docs/architecture.md": 1_100,
    "docs/performance.md": 1_000,
}
# The maximum lines of the README up to the end of the first request.
FIRST_SEND = 40
# The maximum lines of a release in the changelog.
RELEASE = 150


def _text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "most"), MOST.items())
def test_a_page_stays_short(page: str, most: int) -> None:
    words = [word for word in _text(page).split() if re.search(r"\w", word)]
    assert len(words) <= most


def test_the_readme_begins_with_a_first_send() -> None:
    lines = _text("README.md").splitlines()
    start = next(n for n, line in enumerate(lines) if "/api/messages/send" in line)
    assert lines.index("```", start) < FIRST_SEND


def test_a_release_has_few_lines_in_the_changelog() -> None:
    releases = re.split(r"^## ", _text("CHANGELOG.md"), flags=re.MULTILINE)[1:]
    assert releases
    assert all(len(release.splitlines()) <= RELEASE for release in releases)
