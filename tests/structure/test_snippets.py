"""The snippets that verify a signature: one source for the dashboard's page and the documentation."""

from pathlib import Path

import pytest

from contract_tests.doc_blocks import blocks
from dashboard.receiving import LANGUAGES, SNIPPETS, Language

# The language of a fence in the documentation, by the suffix of the file.
FENCES = {"py": "python", "mjs": "js", "go": "go", "php": "php", "rb": "ruby"}


@pytest.mark.parametrize("ending", FENCES)
def test_the_documentation_shows_the_dashboard_s_snippet(ending: str) -> None:
    found = [b.text for b in blocks("docs/receiving.md") if b.language == FENCES[ending]]
    shown = [text for text in found if "sha256=" in text]
    assert shown == [(SNIPPETS / f"verify.{ending}").read_text()]


def test_every_snippet_is_on_the_page_of_the_dashboard() -> None:
    files = {Path(path).name for path in SNIPPETS.glob("verify.*")}
    assert files == {f"verify.{ending}" for ending in FENCES}
    assert [language.file for language in LANGUAGES] == [f"verify.{ending}" for ending in FENCES]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_the_line_that_calls_a_snippet_names_its_function(language: Language) -> None:
    assert f"{language.call.partition('(')[0]}(" in language.code
