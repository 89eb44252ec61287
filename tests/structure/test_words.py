"""The prose linter finds the words of its list (make words)."""

import subprocess
from pathlib import Path

import yaml

from tooling import prose

ROOT = Path(__file__).parents[2]
# One case for each rule, in a text file, which `make words` does not read.
RIDDLES = (Path(__file__).parent / "riddles.txt").read_text()


def _findings(folder: Path, text: str) -> list[str]:
    file = folder / "text.md"
    file.write_text(text)
    command = [
        str(ROOT / "node_modules/.bin/textlint"),
        "--config",
        str(ROOT / ".textlintrc.json"),
        "--format",
        "unix",
    ]
    done = subprocess.run([*command, file], cwd=ROOT, check=False, capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if line.startswith(str(file))]


def test_every_rule_of_the_word_list_finds_its_case(tmp_path: Path) -> None:
    rules = yaml.safe_load((ROOT / "tooling/words.yml").read_text())["rules"]
    found = {line.split(": ", 1)[1].split(" => ")[1] for line in _findings(tmp_path, RIDDLES)}
    assert len(_findings(tmp_path, RIDDLES)) == len(rules), found


def test_a_sentence_that_is_too_long_is_found_across_lines(tmp_path: Path) -> None:
    assert _findings(tmp_path, "Text and\n" * 30 + "end.")
    assert not _findings(tmp_path, "Text and end.\n" * 30)


def test_comments_docstrings_and_messages_keep_their_lines() -> None:
    source = [
        '"""A docstring.',
        "",
        'Its second part."""',
        'raise Error(f"The {name} is empty")  # Why.',
        'x = "id"',
        'y = "id"  # noqa: S105 - a name',
        'z = "id"  # noqa: S105',
    ]
    lines = prose.python("\n".join(source)).splitlines()
    assert lines == [
        "A docstring.",
        "",
        "Its second part.",
        "The X is empty. Why.",
        "",
        "a name.",
        "",
    ]


def test_comments_and_messages_of_typescript_keep_their_lines() -> None:
    source = [
        "/** A comment.",
        " *",
        " * Its second part. */",
        'const url = "http://a"; // Why.',
        "throw new Error(`The ${name} is empty`);",
    ]
    lines = prose.typescript("\n".join(source)).splitlines()
    assert lines == ["A comment.", "", "Its second part.", "Why.", "The X is empty."]
