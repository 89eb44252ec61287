"""A number's owner in a browser: the signup page, the platform's pop-up, and the errors of both."""

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Error, Page

# The folder for screenshots of each page, for people to review. None are taken if it is not set.
SCREENSHOTS = os.environ.get("CONNECT_SCREENSHOTS", "")
PATIENCE_MS = 15_000


@dataclass
class Popup:
    """The platform's window, step by step."""

    page: Page

    def log_in(self) -> Self:
        """Continue as the proposed user."""
        return self._next("Log in to continue", "Continue")

    def choose_business(self, name: str = "Create a new account") -> Self:
        """Choose a business account, by default a new one."""
        self.page.get_by_role("radio", name=name).check()
        return self._next("Choose a business account", "Next")

    def choose_number(self, name: str = "Add a new number", *, two_step_off: bool = False) -> Self:
        """Choose a phone number, by default a new one."""
        self.page.get_by_role("radio", name=name).check()
        if two_step_off:
            self.page.get_by_role("checkbox", name="Turn two-step").check()
        return self._next("Choose a phone number", "Next")

    def enter_number(self, phone: str, name: str = "Ana's bakery") -> Self:
        """Enter the new number's data."""
        self.page.get_by_label("Display name").fill(name)
        self.page.get_by_label("Phone number, with").fill(phone)
        return self._next("Add your phone number", "Next")

    def verify(self, code: str = "123456") -> Self:
        """Enter the code from the text message."""
        self.page.get_by_label("Six digits").fill(code)
        return self._next("Enter the code", "Next")

    def allow(self) -> Self:
        """Grant access, and wait until the platform has created the code."""
        self._next("Review the access", "Confirm")
        self.page.get_by_role("heading", name="Your account is connected").wait_for()
        return self

    def finish(self, *, callback_first: bool = False) -> None:
        """Send the code and the message in one order or the other."""
        if callback_first:
            self.page.get_by_role("checkbox", name="Send the sign-in code first").check()
        shoot(self.page, "popup-your-account-is-connected")
        self._press_last("Finish")

    def up_to_finish(self, phone: str, name: str = "Ana's bakery") -> Self:
        """Every step but the last, for a new number."""
        self.log_in().choose_business().choose_number()
        return self.enter_number(phone, name).verify().allow()

    def cancel(self) -> None:
        """Cancel at this step."""
        self._press_last("Cancel")

    def report(self, code: str, message: str) -> None:
        """Let the platform report an error at this step."""
        self.page.get_by_text("End with an error").click()
        self.page.get_by_label("Error code").fill(code)
        self.page.get_by_label("Error message").fill(message)
        self._press_last("Report this error")

    def _press_last(self, button: str) -> None:
        """Press a button that closes the window, which may close before the click returns."""
        with self.page.expect_event("close"), contextlib.suppress(Error):
            self.page.get_by_role("button", name=button, exact=True).click()

    def _next(self, title: str, button: str) -> Self:
        self.page.get_by_role("heading", name=title).wait_for()
        shoot(self.page, f"popup-{title.lower().replace(' ', '-')}")
        self.page.get_by_role("button", name=button, exact=True).click()
        return self


@dataclass
class Visit:
    """The signup page in a separate context. Records all requests and errors."""

    context: BrowserContext
    root: str
    page: Page = field(init=False)
    requested: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context.set_default_timeout(PATIENCE_MS)
        self.context.on("request", lambda request: self.requested.append(request.url))
        self.context.on("requestfailed", lambda request: self._hear(f"failed: {request.url}"))
        self.context.on("console", self._hear_console)
        self.context.on("weberror", lambda error: self._hear(str(error.error)))
        self.page = self.context.new_page()

    def open(self, slug: str) -> Self:
        """Open the link and wait for its button."""
        self.page.goto(f"{self.root}/connect/{slug}")
        self.page.locator("#start:enabled").wait_for()
        return self

    def begin(self) -> Popup:
        """Press the main button. Returns the window that opens."""
        with self.page.expect_popup() as opened:
            self.page.locator("#start").click()
        return Popup(opened.value)

    def sees(self, state: str) -> str:
        """Wait for a state of the signup page, or the outcome of the signup. Returns the page's text."""
        self.page.locator(f'[data-state="{state}"], [data-outcome="{state}"]').wait_for()
        shoot(self.page, state)
        return self.page.locator("main").inner_text()

    @property
    def hosts(self) -> set[str]:
        """The hosts that the page and its window requested."""
        return {urlsplit(url).netloc for url in self.requested if urlsplit(url).scheme != "data"}

    def _hear(self, text: str) -> None:
        self.complaints.append(text)

    def _hear_console(self, message: ConsoleMessage) -> None:
        # The browser reports every page with an error status. Those statuses are expected.
        noted = "the server responded with a status of" in message.text
        if message.type in {"error", "warning"} and not (noted and self._is_page(message)):
            self._hear(message.text)

    def _is_page(self, message: ConsoleMessage) -> bool:
        return message.location["url"].startswith(f"{self.root}/connect/")


def shoot(page: Page, name: str) -> None:
    """Save screenshots of a page, light and dark, in the folder SCREENSHOTS."""
    if not SCREENSHOTS:
        return
    Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}-{scheme}.png")
