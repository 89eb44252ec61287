"""Checks a page with axe-core, for sideways scrolling and with a screenshot, at each width and color scheme.

DASHBOARD_SHOTS=FOLDER saves screenshots of each page for people to review.
"""

import os
import re
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

from contract_tests.harness import ROOT

FOLDER = os.environ.get("DASHBOARD_SHOTS")
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
HEIGHT = 800
COLOURS = ["color-contrast", "link-in-text-block"]
# No page plays sound, so axe need not load the page's files again.
IN_LIGHT: dict[str, Any] = {"preload": False}
IN_DARK = {"runOnly": COLOURS, "preload": False}
Look = tuple[int, Literal["light", "dark"]]
# The width and the color scheme. Phones show lists where desktops show tables, in the same colors, so each
# width and each scheme is checked once.
LOOKS: dict[str, Look] = {"phone-dark": (360, "dark"), "desktop-light": (1280, "light")}
# In addition, for people who review.
OTHER_LOOKS: dict[str, Look] = {"phone-light": (360, "light"), "desktop-dark": (1280, "dark")}
# Only what identifies the place: the whole result is long.
RUN = """async rules => (await axe.run(document, {resultTypes: ["violations"], ...rules})).violations.map(
  found => `${found.id} (${found.impact}): ${found.nodes.map(node => node.target).join(" | ")}`)"""


def faults(page: Page, name: str) -> list[str]:
    """The faults of the open page at each width and color scheme. ``name`` names its screenshots."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    found = [f"{name}, {look}: {fault}" for look in LOOKS for fault in _of(page, name, look)]
    if FOLDER:
        for look, how in OTHER_LOOKS.items():
            _show(page, how)
            _keep(page, name, look)
    return found


def leave(page: Page) -> None:
    """Stop automatic reloads: a page that is left during a load logs a failed request."""
    parts = "[hx-trigger^=every]"
    if page.locator(parts).count():
        page.evaluate(
            "parts => document.querySelectorAll(parts).forEach(part => part.remove())", parts
        )
        page.wait_for_load_state("networkidle")


def _of(page: Page, name: str, look: str) -> list[str]:
    _show(page, LOOKS[look])
    _keep(page, name, look)
    found: list[Any] = page.evaluate(RUN, IN_LIGHT)
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return [*map(str, found), *([f"scrolls sideways by {wide} px"] if wide > 0 else [])]


def _show(page: Page, how: Look) -> None:
    width, scheme = how
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=scheme)


def _keep(page: Page, name: str, look: str) -> None:
    if FOLDER:
        kept = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
        page.screenshot(path=Path(FOLDER) / f"{kept}-{look}.png", full_page=True)
