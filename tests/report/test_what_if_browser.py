"""The part "What if" of a report in a browser: a slider is moved, and the sentence says what that does."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import bentpipe
from bentpipe.report import html, what_if
from bentpipe.runs.store import Results
from built import needed
from chromium import LONG_MS, chromium

LAB = """
title = "<img src=x onerror=alert(1)>"
duration = "4 s"
[path]
rtt = "60 ms"
rate = "4 Mbit/s"
queue = "60 kB"
[[workload]]
name = "download"
kind = "bulk"
"""
JOURNEY = "a browser draws the whole page again"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("what-if") / "run"
    bentpipe.simulate(bentpipe.Lab.loads(LAB)).save(folder)
    return folder


@pytest.fixture
def report(run: Path, tmp_path: Path) -> Path:
    needed(what_if.BUILT / what_if.MODULE, "make wasm")
    html.write(Results.open(run), tmp_path / "report.html")
    return tmp_path / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def is_exact(page: Page) -> None:
    expect(page.locator(".what-if .state")).to_have_attribute("data-state", "exact")


@pytest.mark.parametrize(
    ("width", "scheme"), [(1400, "light"), pytest.param(400, "dark", marks=pytest.mark.long(JOURNEY))]
)
def test_a_slider_changes_the_run_and_the_sentence_says_how(
    browser: Browser, report: Path, width: int, scheme: str
) -> None:
    colours = "dark" if scheme == "dark" else "light"
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=colours)
    page.set_default_timeout(LONG_MS)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda it: said.append(it.text) if it.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.goto(report.as_uri())
    page.locator(".what-if > summary").press("Enter")
    is_exact(page)
    sentence = page.locator(".what-if .says")
    expect(sentence).to_contain_text("the simulator gives the same figures as this run")
    page.get_by_label("Queue", exact=True).press("PageDown")
    expect(sentence).to_contain_text("instead of 60 kB: goodput (down) ")
    is_exact(page)
    expect(page.locator(".what-if tbody tr").first.locator("td")).to_have_count(3)
    expect(page.locator(".what-if .main-svg").first).to_be_attached()
    page.get_by_role("button", name="As the run was").press("Enter")
    expect(sentence).to_contain_text("the same figures as this run")
    assert page.get_by_label("Queue, typed").input_value() == "60 kB"
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.emulate_media(media="print")
    expect(page.locator(".what-if")).to_be_hidden()
    assert said == []
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [report.as_uri()]
    page.close()


@pytest.mark.long(JOURNEY)
def test_a_page_without_the_simulator_says_so_where_the_sliders_would_be(
    browser: Browser, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if, "BUILT", tmp_path / "nothing")
    html.write(Results.open(run), tmp_path / "report.html")
    page = browser.new_page()
    page.set_default_timeout(LONG_MS)
    page.goto((tmp_path / "report.html").as_uri())
    page.locator(".what-if > summary").press("Enter")
    expect(page.locator(".what-if .note")).to_have_text(what_if.NOT_BUILT)
    page.close()
