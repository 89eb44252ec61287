"""Tables fit the terminal."""

import click
import pytest
from click.testing import CliRunner

from gateway.cli.output import cut, show

ID = "wh_01HZZZZZZZZZZZZZZZZZZZZZZZ"
URL = f"https://hooks.example.com/{'very-long-path/' * 20}end"


@click.command()
@click.option("--json", "as_json", is_flag=True)
def listed(*, as_json: bool) -> None:
    show([{"id": ID, "active": True, "url": URL}], "id", "active", "url", as_json=as_json)


def test_a_table_cuts_its_last_column_only() -> None:
    head, row = CliRunner().invoke(listed).output.splitlines()
    assert len(row) <= 80
    assert row.startswith(f"{ID}  yes     https://hooks.example.com/very-long-path")
    assert row.endswith("\N{HORIZONTAL ELLIPSIS}")
    assert head.split() == ["ID", "ACTIVE", "URL"]
    assert URL in CliRunner().invoke(listed, ["--json"]).output


def test_a_wider_terminal_shows_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    assert URL in CliRunner().invoke(listed).output


def test_control_characters_in_texts_are_not_printed() -> None:
    assert cut("a\x1b[2Jb\nc\u202ed", 80) == "a [2Jb c d"
