"""The system's Chromium without windows, and a record of its pages' requests and errors."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from contract_tests.waiting import WAIT_SECONDS

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Pages are open for a second. Optimizing their scripts took a quarter of Chromium's CPU time.
    "--js-flags=--no-opt --no-maglev",
    # A request to any other host fails, and appears as an error in the console.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


@contextmanager
def launched() -> Iterator[Browser]:
    """A separate Chromium, whose user data are deleted.

    Assertions about its pages wait as long as all other waits.
    """
    expect.set_options(timeout=WAIT_SECONDS * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell"), headless=True, args=FLAGS
        )
        yield browser
        browser.close()


class Witness:
    """The hosts and ports that a page requested, and the errors in its console."""

    def __init__(self, page: Page) -> None:
        self.hosts: set[str] = set()
        self.complaints: list[str] = []
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        page.on("requestfailed", self._hear_failure)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda message: self._hear(message.type, message.text))

    def _hear_failure(self, request: Request) -> None:
        # Leaving a page cancels its requests. That is no error.
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"failed: {request.url}")

    def _hear(self, level: str, text: str) -> None:
        if level in {"error", "warning"}:
            self.complaints.append(f"{level}: {text}")
