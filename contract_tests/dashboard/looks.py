"""Checks a page with axe-core, for sideways scrolling and with a screenshot, at each width and color scheme.

DASHBOARD_SHOTS=FOLDER saves screenshots of each page for people to review.
"""

import os
import re
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

from contract_tests.harness import ROOT

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
HEIGHT = 800
COLOURS = ["color-contrast", "link-in-text-block"]
IN_DARK = {"runOnly": COLOURS}
IN_LIGHT: dict[str, Any] = {}
# The width, the color scheme and the rules of axe. Phones show lists where desktops show tables, in the same
# colors, so each scheme's colors are checked at one width.
LOOKS: dict[str, tuple[int, Literal["light", "dark"], dict[str, Any] | None]] = {
    "phone-light": (360, "light", {"rules": {rule: {"enabled": False} for rule in COLOURS}}),
    "phone-dark": (360, "dark", IN_DARK),
    "desktop-light": (1280, "light", IN_LIGHT),
    "desktop-dark": (1280, "dark", None),
}
# Only what identifies the place: the whole result is long.
RUN = """async rules => (await axe.run(document, {resultTypes: ["violations"], ...rules})).violations.map(
  found => `${found.id} (${found.impact}): ${found.nodes.map(node => node.target).join(" | ")}`)"""


def faults(page: Page, name: str) -> list[str]:
    """The faults of the open page at each width and color scheme. ``name`` names its screenshots."""
    page.evaluate(AXE.read_text())
    return [f"{name}, {look}: {fault}" for look in LOOKS for fault in _of(page, name, look)]


def leave(page: Page) -> None:
    """Stop automatic reloads: a page that is left during a load logs a failed request."""
    if page.locator("#live[hx-get]").count():
        page.evaluate("document.getElementById('live')?.remove()")
        page.wait_for_load_state("networkidle")


def _of(page: Page, name: str, look: str) -> list[str]:
    width, scheme, rules = LOOKS[look]
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=scheme)
    _keep(page, f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}-{look}.png")
    found: list[Any] = [] if rules is None else page.evaluate(RUN, rules)
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return [*map(str, found), *([f"scrolls sideways by {wide} px"] if wide > 0 else [])]


def _keep(page: Page, name: str) -> None:
    if folder := os.environ.get("DASHBOARD_SHOTS"):
        page.screenshot(path=Path(folder) / name, full_page=True)
