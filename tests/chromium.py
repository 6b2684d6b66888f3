"""The browser of the tests that look at pages."""

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, expect, sync_playwright

from waiting import LONG_S

LONG_MS = 1000 * LONG_S
expect.set_options(timeout=LONG_MS)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium: the machine's own, or the one that Playwright has."""
    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=LONG_MS)
        yield browser
        browser.close()
