"""Links of the documentation resolve, and it covers the whole contract."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest

from contract_tests.contract import load_contract
from contract_tests.doc_blocks import RUN_BY, Block, blocks, pages_of_use
from contract_tests.doc_reader import ACTIONS
from networks.whatsapp.error_codes import ERROR_CODES, EXPLANATIONS, PERMISSIONS
from resources.error import STATUS
from services.network_failures import ANSWERS
from tooling.api_reference import METHODS, anchor, code, reference
from tooling.docs_hooks import LOADS, decisions, list_of_decisions

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
CONTRACT = load_contract()
SCHEMAS = CONTRACT["components"]["schemas"]
EXAMPLES = CONTRACT["components"]["examples"]


FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return FENCE.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, in the form of MkDocs and GitHub."""
    titles = (
        re.sub(r"[^\w\s-]", "", title).strip().lower() for title in HEADING.findall(prose(page))
    )
    return {re.sub(r"[-\s]+", "-", title) for title in titles}


def links(page: Path) -> list[str]:
    """The links of a page to other files and headings of the repository."""
    return [t for t in LINK.findall(prose(page)) if not t.startswith(("http://", "https://"))]


def broken(page: Path) -> list[str]:
    """The broken links of a page."""
    return [target for target in links(page) if not link_resolves(page, target)]


def link_resolves(page: Path, target: str) -> bool:
    """True if the file and the heading of a link exist."""
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    return file.exists() and (not anchor or anchor in anchors(file))


def named(page: str) -> set[str]:
    """The texts between backticks on a page of docs/."""
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


def test_every_operation_and_every_event_is_in_the_reference() -> None:
    text = reference(CONTRACT)
    for path, item in CONTRACT["paths"].items():
        for method in item.keys() & set(METHODS):
            call = f"`{method.upper()} {path}` (`{item[method]['operationId']}`)"
            assert text.count(call) == 1, call
    assert [kind for kind in SCHEMAS["EventKind"]["enum"] if f"\n`{kind}`\n" not in text] == []


def test_every_schema_with_its_properties_and_every_example_is_in_the_reference() -> None:
    text = reference(CONTRACT)
    for name, schema in SCHEMAS.items():
        section = text.partition(f'<h3 id="{anchor(name)}">{name}</h3>')[2].partition("<h3 ")[0]
        assert [p for p in schema.get("properties", {}) if f"| {code(p)} |" not in section] == []
        assert section, name
    summaries = [f"<summary>Example: {escape(e['summary'])}</summary>" for e in EXAMPLES.values()]
    assert [summary for summary in summaries if summary not in text] == []


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


def test_the_documented_codes_of_the_network_match_the_code() -> None:
    section = (DOCS / "errors.md").read_text().partition("## Codes of the network")[2]
    shown = [
        (int(status), row)
        for status, text in re.findall(
            r"^### Status (\d+)(.+?)(?=^###|\Z)", section, re.DOTALL | re.MULTILINE
        )
        for row in re.findall(r"^\| \d.*$", text, re.MULTILINE)
    ]
    # The page has one row for this range.
    codes = sorted(ERROR_CODES.keys() - set(PERMISSIONS[1:]))
    assert {ERROR_CODES[code] for code in PERMISSIONS} == {ERROR_CODES[PERMISSIONS[0]]}
    rows = [(status_of(code), f"| {label(code)} | {EXPLANATIONS[str(code)]} |") for code in codes]
    assert shown == sorted(rows, key=lambda row: row[0])


def status_of(code: int) -> int:
    """The HTTP status of a response with this code."""
    return STATUS[ANSWERS[ERROR_CODES[code].error][0].code]


def label(code: int) -> str:
    """The page's name of a code, or of the range that begins with it."""
    return f"{PERMISSIONS[0]} to {PERMISSIONS[-1]}" if code == PERMISSIONS[0] else str(code)


def test_every_event_and_every_state_is_explained() -> None:
    assert set(SCHEMAS["EventKind"]["enum"]) <= named("webhooks.md")
    for schema in ("NumberStatus", "MessageStatus", "DeliveryState"):
        assert set(SCHEMAS[schema]["enum"]) <= named("concepts.md"), schema


def test_the_tables_of_sending_are_the_examples_of_the_contract() -> None:
    section = (
        (DOCS / "sending.md").read_text().partition("## Message types")[2].partition("\n## ")[0]
    )
    expected = [
        row for name, request in sending_examples().items() if (row := row_of(name, request))
    ]
    assert [row for row in expected if row not in section] == []
    assert len(re.findall(r"^\| `", section, re.MULTILINE)) == len(expected) + 2


def row_of(name: str, request: dict[str, Any]) -> str:
    """The start of an example's row. Empty for templates, which have a separate page."""
    content = request[request["type"]]
    match request["type"]:
        case "template":
            return ""
        case "interactive":
            return f"| `{content['type']}` | {name} |"
        case "contacts":
            return f"| `contacts` | {name} |"
    return f"| `{request['type']}` | {name} | `{json.dumps(content, ensure_ascii=False)}` |"


def test_the_page_about_templates_names_every_example_of_the_contract() -> None:
    page = " ".join((DOCS / "templates.md").read_text().split())
    names = [name for name, request in sending_examples().items() if request["type"] == "template"]
    assert [name for name in names if name.removeprefix("A template with ") not in page] == []


def sending_examples() -> dict[str, Any]:
    """The contract's examples of send requests, by their summaries."""
    body = CONTRACT["paths"]["/messages/send"]["post"]["requestBody"]["content"]
    names = (e["$ref"].rpartition("/")[2] for e in body["application/json"]["examples"].values())
    return {EXAMPLES[name]["summary"]: EXAMPLES[name]["value"] for name in names}


@pytest.mark.parametrize("page", pages_of_use())
def test_a_test_runs_every_block_of_the_customer_s_pages(page: str) -> None:
    found = blocks(page)
    assert [block for block in found if not is_run(page, block)] == []
    # blocks() finds every fence.
    fences = re.findall(r"^[ >]*(?:```|~~~)", (ROOT / page).read_text(), re.MULTILINE)
    assert len(fences) == 2 * len(found)


def is_run(page: str, block: Block) -> bool:
    """Whether a test runs a block: test_docs.py, or the test that names the page."""
    file = RUN_BY.get((page, block.language))
    return block.language in ACTIONS if file is None else page in (ROOT / file).read_text()


def test_a_block_that_no_test_runs_is_found() -> None:
    assert not is_run("docs/sending.md", Block("http", "GET /"))
    assert is_run("docs/sending.md", Block("sh", "curl"))


def test_the_tests_that_run_blocks_have_blocks_to_run() -> None:
    assert [key for key in RUN_BY if key[1] not in {b.language for b in blocks(key[0])}] == []


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
