"""``gateway broadcasts``, over the API."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contract_tests.developer import Developer
from contract_tests.harness import Gateway, wait_for

# A sample of the sandbox with two variables, and hours that hold at any time.
TEMPLATE = ("--template", "sample_reminder", "--local-hours", "00:00-24:00")
TEXTS = ("--fixed", "1=Maria", "--fixed", "2=Friday")
PEOPLE = ("15551234567", "15551234568")
MANY = tuple(f"1555123{n:04}" for n in range(9))
# The sandbox refuses messages to it.
REFUSED = "15550100001"


@pytest.fixture(scope="module")
def developer(gateway: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Developer:
    """Signed in to an account with a number."""
    folder: Path = tmp_path_factory.mktemp("laptop")
    return Developer(folder, gateway.customer(), gateway.environment)


def _create(developer: Developer, *options: str, people: tuple[str, ...] = PEOPLE) -> Any:
    to = [word for person in people for word in ("--to", person)]
    return developer.json("broadcasts", "create", *TEMPLATE, *TEXTS, *to, *options)


def test_a_broadcast_is_created_tested_started_and_watched(developer: Developer) -> None:
    made = _create(developer, "--name", "Spring", "--rate", "50", people=(*PEOPLE, REFUSED))
    assert (made["status"], made["name"], made["ratePerSecond"]) == ("draft", "Spring", 50)
    [body] = made["body"]["components"]
    assert [each["text"] for each in body["parameters"]] == ["Maria", "Friday"]
    tested = developer.json("broadcasts", "test", made["id"], "--to", PEOPLE[0])
    assert tested["status"] == "sent"
    assert made["id"] in developer.refuse("broadcasts", "watch", made["id"])

    assert developer.json("broadcasts", "start", made["id"])["status"] == "running"
    status, printed, shown = developer.run("broadcasts", "watch", made["id"])
    assert (status, shown.splitlines()[-1]) == (0, "Done")
    assert "Ended at" in printed
    listed = developer.json("broadcasts", "recipients", made["id"])
    assert [each["to"] for each in listed] == [*PEOPLE, REFUSED]
    [failed] = developer.json("broadcasts", "recipients", made["id"], "--status", "failed")
    assert failed["why"] == failed["error"]["message"]
    assert REFUSED in developer.text("broadcasts", "recipients", made["id"])
    counts = developer.json("broadcasts", "show", made["id"])["counts"]
    assert (counts["total"], counts["failed"]) == (3, 1)
    assert f"{made['id']}  done" in developer.text("broadcasts", "list", "--status", "done")


def test_a_broadcast_is_paused_resumed_and_cancelled(developer: Developer) -> None:
    made = _create(developer, "--rate", "1", "--start", people=MANY)
    assert developer.json("broadcasts", "pause", made["id"])["reason"]["code"] == "paused_by_user"
    shown = developer.text("broadcasts", "show", made["id"])
    assert "paused" in shown
    assert developer.json("broadcasts", "resume", made["id"])["status"] == "running"
    ended = developer.json("broadcasts", "cancel", made["id"], "--yes")
    assert ended["status"] == "cancelled"

    def skipped() -> int:
        return int(developer.json("broadcasts", "show", made["id"])["counts"]["skipped"])

    assert wait_for(skipped, "the end of the broadcast") > 0
    assert "cancelled" in developer.text("broadcasts", "recipients", made["id"])


def _write(developer: Developer, *rows: str) -> str:
    """The path of a file of recipients."""
    path = developer.folder / "customers.csv"
    path.write_text("\n".join(["Phone;Name;Day", *rows]))
    return str(path)


def test_the_recipients_of_a_file_get_its_columns(developer: Developer) -> None:
    file = _write(developer, f"{PEOPLE[0]};Maria;Friday", f"+{PEOPLE[1]};Jan;Monday")
    mapped = ("--column", "Name=1", "--column", "Day=2")
    made = developer.json("broadcasts", "create", *TEMPLATE, "--file", file, *mapped, "--start")
    developer.run("broadcasts", "watch", made["id"])
    listed = developer.json("broadcasts", "recipients", made["id"])
    assert [each["to"] for each in listed] == [*PEOPLE]
    sent = {each["id"]: each for each in developer.json("messages", "--type", "template")}
    messages = [sent[each["messageId"]] for each in listed]
    texts = [[p["text"] for p in m["body"]["components"][0]["parameters"]] for m in messages]
    assert texts == [["Maria", "Friday"], ["Jan", "Monday"]]


def test_wrong_rows_are_refused_unless_they_are_left_out(developer: Developer) -> None:
    file = _write(developer, f"{PEOPLE[0]};Maria;Friday", "0171 234567;Jan;Monday")
    mapped = ("--column", "Name=1", "--column", "Day=2")
    words = ("broadcasts", "create", *TEMPLATE, "--file", file, *mapped)
    assert "Line 3, Phone: " in developer.refuse(*words)
    status, printed, said = developer.run(*words, "--skip-wrong", "--json")
    assert (status, json.loads(printed)["counts"]["total"]) == (0, 1)
    assert said.startswith("Left out: Line 3, Phone: ")


def test_it_can_start_at_a_time_and_expire(developer: Developer) -> None:
    day = datetime.now(UTC).date() + timedelta(days=10)
    ends = day + timedelta(days=1)
    made = _create(developer, "--start", "--start-at", str(day), "--expires-at", str(ends))
    assert (made["status"], made["startAt"]) == ("scheduled", f"{day}T00:00:00.000Z")
    assert made["expiresAt"] == f"{ends}T00:00:00.000Z"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--template", "sample_reminder", "--to", PEOPLE[0]],
        [*TEMPLATE, "--to", PEOPLE[0], *TEXTS, "--fixed", "3=more"],
        [*TEMPLATE, "--to", PEOPLE[0], "--fixed", "1"],
        [*TEMPLATE[:2], "--to", PEOPLE[0], *TEXTS, "--local-hours", "9-18"],
        [*TEMPLATE, *TEXTS],
        [*TEMPLATE, *TEXTS, "--to", PEOPLE[0], "--file", __file__],
        [*TEMPLATE, *TEXTS, "--to", PEOPLE[0], "--column", "Name=1"],
    ],
    ids=[
        *("variable missing", "variable unknown", "no text", "hours"),
        *("no recipients", "two kinds of recipients", "a column without a file"),
    ],
)
def test_wrong_usage_ends_with_status_2(developer: Developer, arguments: list[str]) -> None:
    developer.refuse("broadcasts", "create", *arguments, status=2)


def test_an_unknown_template_ends_with_status_1(developer: Developer) -> None:
    unknown = ("--template", "unknown", "--to", PEOPLE[0])
    assert "unknown" in developer.refuse("broadcasts", "create", *unknown)
