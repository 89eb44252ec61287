"""Checks a page with axe-core, for sideways scrolling and with a screenshot, at each width and color scheme.

DASHBOARD_SHOTS=FOLDER saves screenshots of each page for people to review.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

from contract_tests.harness import ROOT

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = {"phone": 360, "desktop": 1280}
HEIGHT = 800
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# In dark mode only the colors differ.
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
# Only what identifies the place: the whole result is long.
RUN = """async rules => (await axe.run(document, {resultTypes: ["violations"], ...rules})).violations.map(
  found => `${found.id} (${found.impact}): ${found.nodes.map(node => node.target).join(" | ")}`)"""


def faults(page: Page, name: str) -> list[str]:
    """The faults of the open page at each width and color scheme. ``name`` names its screenshots."""
    page.evaluate(AXE.read_text())
    return [f"{name}, {look}: {fault}" for look in _looks(page) for fault in _of(page, name, look)]


def leave(page: Page) -> None:
    """Stop automatic reloads: a page that is left during a load logs a failed request."""
    if page.locator("#live[hx-get]").count():
        page.evaluate("document.getElementById('live')?.remove()")
        page.wait_for_load_state("networkidle")


def _looks(page: Page) -> Iterator[str]:
    for device, width in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": HEIGHT})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            yield f"{device}-{scheme}"


def _of(page: Page, name: str, look: str) -> list[str]:
    _keep(page, f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}-{look}.png")
    found: list[Any] = page.evaluate(RUN, COLOURS if look.endswith("dark") else {})
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return [*map(str, found), *([f"scrolls sideways by {wide} px"] if wide > 0 else [])]


def _keep(page: Page, name: str) -> None:
    if folder := os.environ.get("DASHBOARD_SHOTS"):
        page.screenshot(path=Path(folder) / name, full_page=True)
