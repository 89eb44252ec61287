"""The documentation leads nowhere that is not there, and leaves out nothing of the contract."""

import json
import re
from pathlib import Path

import pytest

from contract_tests.contract import load_contract
from handlers.network_failures import ANSWERS
from networks.error_codes import ERROR_CODES, PERMISSIONS, ErrorCode
from tooling.docs_hooks import LOADS, METHODS, decisions, list_of_decisions, operations

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])
CONTRACT = load_contract()
SCHEMAS = CONTRACT["components"]["schemas"]
EXAMPLES = CONTRACT["components"]["examples"]

FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return FENCE.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as MkDocs and GitHub make them."""
    titles = (
        re.sub(r"[^\w\s-]", "", title).strip().lower() for title in HEADING.findall(prose(page))
    )
    return {re.sub(r"[-\s]+", "-", title) for title in titles}


def links(page: Path) -> list[str]:
    """The links of a page to other files and headings of the repository."""
    return [t for t in LINK.findall(prose(page)) if not t.startswith(("http://", "https://"))]


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    return [target for target in links(page) if not leads_somewhere(page, target)]


def leads_somewhere(page: Path, target: str) -> bool:
    """Whether the file and the heading of a link are there."""
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    return file.exists() and (not anchor or anchor in anchors(file))


def named(page: str) -> set[str]:
    """What stands between backticks on a page of docs/."""
    return set(re.findall(r"`([^`\n]+)`", prose(DOCS / page)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert broken(page) == []


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One thing\n[a](#one-thing) [b](#other) [c](page.md#one-thing) [d](gone.md)\n"
    )
    assert broken(page) == ["#other", "gone.md"]


def test_every_operation_is_in_the_reference() -> None:
    reference = operations(CONTRACT)
    for path, item in CONTRACT["paths"].items():
        for method in METHODS & item.keys():
            call = f"`{method.upper()} {path}` (`{item[method]['operationId']}`)"
            assert reference.count(call) == 1, call


def test_every_decision_is_in_the_index() -> None:
    index = list_of_decisions()
    files = {path.name for path in (DOCS / "decisions").iterdir()} - {"index.md"}
    assert {path.name for path in decisions()} == files
    assert all(index.count(f"({name})") == 1 for name in files)


def test_every_page_is_in_the_navigation() -> None:
    configured = (ROOT / "mkdocs.yml").read_text()
    pages = {str(path.relative_to(DOCS)) for path in DOCS.glob("*.md")}
    assert {name for name in pages if configured.count(name) != 1} == set()


def test_every_error_code_is_explained() -> None:
    codes = set(SCHEMAS["ErrorCode"]["enum"])
    rows = set(re.findall(r"^\| `([A-Z_]+)` \|", (DOCS / "errors.md").read_text(), re.MULTILINE))
    assert rows == codes


def test_the_table_of_the_network_s_codes_is_the_code_s() -> None:
    section = (DOCS / "errors.md").read_text().partition("## Codes of the network")[2]
    shown = re.findall(r"^\| [0-9].*$", section, re.MULTILINE)
    # One row for all of this range.
    codes = sorted(ERROR_CODES.keys() - set(PERMISSIONS[1:]))
    assert {ERROR_CODES[code] for code in PERMISSIONS} == {ERROR_CODES[PERMISSIONS[0]]}
    rows = [f"| {code} | {in_docs(ERROR_CODES[code])} |" for code in codes]
    label = f"{PERMISSIONS[0]} to {PERMISSIONS[-1]}"
    assert [row.replace(label, str(PERMISSIONS[0])) for row in shown] == rows


def in_docs(known: ErrorCode) -> str:
    """The status of a request that gets this code, and its texts."""
    return f"{ANSWERS[known.error][0].status} | {known.means} | {known.to_do}"


def test_every_event_and_every_state_is_explained() -> None:
    assert set(SCHEMAS["EventKind"]["enum"]) <= named("webhooks.md")
    for schema in ("NumberStatus", "MessageStatus", "DeliveryState"):
        assert set(SCHEMAS[schema]["enum"]) <= named("concepts.md"), schema


def test_the_examples_of_sending_are_the_contract_s() -> None:
    blocks = re.findall(
        r"^```json\n(.+?)^```", (DOCS / "sending.md").read_text(), re.MULTILINE | re.DOTALL
    )
    shown = [json.loads(block) for block in blocks]
    examples = CONTRACT["paths"]["/messages/send"]["post"]["requestBody"]["content"]
    names = [
        e["$ref"].rpartition("/")[2] for e in examples["application/json"]["examples"].values()
    ]
    expected = [EXAMPLES[name]["value"] for name in ("SentMessage", *names)]
    assert shown == expected


def test_the_event_that_is_shown_is_the_contract_s() -> None:
    blocks = re.findall(
        r"^```json\n(.+?)^```", (DOCS / "webhooks.md").read_text(), re.MULTILINE | re.DOTALL
    )
    event, tested = (json.loads(block) for block in blocks)
    assert event == EXAMPLES["MessageReceivedEvent"]["value"]
    assert tested == EXAMPLES["WebhookTestSuccess"]["value"]


@pytest.mark.parametrize(
    ("tag", "loaded"),
    [
        ('<script src="https://cdn.example.com/a.js"></script>', ["https://cdn.example.com/a.js"]),
        ('<link rel="stylesheet" href="//fonts.example.com/a">', ["//fonts.example.com/a"]),
        ('<img alt="x" src="http://example.com/a.png">', ["http://example.com/a.png"]),
        ('<script src="assets/a.js"></script><img src="a.png">', []),
        ('<a href="https://example.com/">elsewhere</a>', []),
    ],
)
def test_the_build_notices_what_a_page_loads_from_elsewhere(tag: str, loaded: list[str]) -> None:
    assert LOADS.findall(tag) == loaded
