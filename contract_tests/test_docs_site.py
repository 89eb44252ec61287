"""The built site of the documentation in a real browser: each page on a phone, and the search."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from contract_tests.chromium import Witness
from contract_tests.dashboard.looks import AXE, IN_DARK, IN_LIGHT
from contract_tests.harness import ROOT

MKDOCS = Path(sys.executable).parent / "mkdocs"
PHONE: ViewportSize = {"width": 390, "height": 800}
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
# The theme's script gives the buttons of all code blocks the same label.
OF_THE_THEME = ".md-code__nav"
RUN = f"""async rules =>
  (await axe.run({{exclude: ["{OF_THE_THEME}"]}}, {{resultTypes: ["violations"], ...rules}}))
  .violations.map(found => `${{found.id}}: ${{found.nodes.map(node => node.target).join(" | ")}}`)"""
# Colours are compared at once, not while they change from one scheme to the other.
STILL = """addEventListener("DOMContentLoaded", () => {
  const style = document.createElement("style");
  style.textContent = "* { transition: none !important }";
  document.head.append(style); })"""
# Of 1,200 elements of the reference every tenth, because axe takes 4 s for all.
THINNED = (
    "document.querySelectorAll('article > :not(:nth-child(10n))').forEach(each => each.remove())"
)
# Of the decisions the longest ones. All are headings, paragraphs and lists.
DECISIONS, MOST_DECISIONS = "decisions", 3
DARK = "document.body.dataset.mdColorScheme = 'slate'"
TOO_WIDE = "document.documentElement.scrollWidth - window.innerWidth"

pytestmark = pytest.mark.timeout(300)


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that does not log."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it, which is strict."""
    folder: Path = tmp_path_factory.mktemp("site")
    command = [str(MKDOCS), "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def page(site: Path, browser: Browser) -> Iterator[Page]:
    """A phone on which the site can be read."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context(base_url=f"http://127.0.0.1:{server.server_port}", viewport=PHONE)
    context.add_init_script(STILL)
    context.add_init_script(path=AXE)
    yield context.new_page()
    context.close()
    server.shutdown()
    server.server_close()


def faults(page: Page) -> list[str]:
    """What axe-core finds in the page that is open, and scrolling sideways."""
    wide = page.evaluate(TOO_WIDE)
    light: list[str] = page.evaluate(RUN, IN_LIGHT)
    return [*light, *(["scrolls sideways"] if wide > 0 else [])]


def pages(site: Path) -> list[Path]:
    """The pages to look at."""
    every = sorted(site.rglob("*.html"), key=lambda path: path.stat().st_size)
    decisions = [path for path in every if path.parent.name == DECISIONS]
    return [path for path in every if path not in decisions[:-MOST_DECISIONS]]


def test_every_page_can_be_read_by_everybody_on_a_phone(page: Page, site: Path) -> None:
    witness, found = Witness(page), {}
    for path in pages(site):
        name = str(path.relative_to(site))
        page.goto(f"/{name}")
        if of_page := faults(page):
            found[name] = of_page
    assert found == {}
    assert witness.complaints == []
    assert len(witness.hosts) == 1


# Together they have every kind of element. The theme's dark colors are the same on all pages.
@pytest.mark.parametrize("name", ["index", "quickstart", "errors", "api-reference", "architecture"])
def test_the_dark_colors_can_be_read_by_everybody(page: Page, name: str) -> None:
    page.goto(f"/{name}.html")
    if name == "api-reference":
        page.evaluate(THINNED)
    page.evaluate(DARK)
    assert page.evaluate(RUN, IN_DARK) == []


def test_the_navigation_of_a_wide_screen_can_be_read_by_everybody(page: Page) -> None:
    page.set_viewport_size(DESKTOP)
    page.goto("/index.html")
    expect(page.get_by_role("navigation").get_by_text("Run", exact=True).first).to_be_visible()
    assert faults(page) == []


@pytest.mark.parametrize(
    ("query", "address"),
    [
        ("/messages/send", "api-reference.html#sendMessage"),
        ("windowOpenUntil", "api-reference.html#schema-contact"),
        ("131047", "errors.html"),
        ("GATEWAY_RETENTION_DAYS", "configuration.html"),
    ],
)
def test_the_search_finds(page: Page, query: str, address: str) -> None:
    page.set_viewport_size(DESKTOP)
    page.goto("/index.html")
    page.get_by_placeholder("Search").click()
    # The theme loses text that is typed before the index is loaded.
    expect(page.locator(".md-search-result__meta")).to_have_text("Type to start searching")
    # The theme listens to keys.
    page.get_by_placeholder("Search").press_sequentially(query)
    expect(page.locator(f".md-search-result a[href*='{address}']").first).to_be_attached()
