"""The playground's pages, served and opened."""

import contextlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Frame, Page, expect

from chromium import LONG_MS


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a static server that has the folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    beside = threading.Thread(target=server.serve_forever)
    beside.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    beside.join()
    server.server_close()


@contextlib.contextmanager
def watched(browser: Browser, **how: Any) -> Iterator[tuple[Page, list[str], list[str]]]:
    """A new page, what its console says, and what it asks for."""
    page = browser.new_page(**how)
    page.set_default_timeout(LONG_MS)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda it: said.append(it.text) if it.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page, said, asked
    page.close()


@contextlib.contextmanager
def opened(browser: Browser, url: str, **how: Any) -> Iterator[tuple[Page, list[str], list[str]]]:
    """The playground with its whole run drawn, what its console said, and what it asked for."""
    with watched(browser, **how) as (page, said, asked):
        page.goto(url)
        is_exact(page)
        yield page, said, asked


def is_exact(page: Page | Frame) -> None:
    expect(page.locator("#status")).to_have_attribute("data-state", "exact")
