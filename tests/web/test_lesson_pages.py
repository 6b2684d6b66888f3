"""The site's lessons, with the theme around them, are accessible.

`.ci/run` alone tries it, since it builds the site and opens its pages in a browser.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from in_browser import is_exact, served, watched
from playwright.sync_api import Browser, Frame, Page

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def address(wasm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert wasm.is_file()
    site = tmp_path_factory.mktemp("site") / "out"
    subprocess.run([sys.executable, ROOT / "scripts/site", site], check=True, capture_output=True)
    with served(site) as found:
        yield found


def _violations(page: Page | Frame) -> list[str]:
    page.evaluate((ROOT / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({ iframes: false })")
    assert len(found["passes"]) > 10
    return [f"{each['id']}: {node['html']}" for each in found["violations"] for node in each["nodes"]]


@pytest.mark.long("the whole site is built, and opened in a browser")
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (400, "dark")])
def test_axe_finds_nothing_against_a_lesson_and_its_playground(
    browser: Browser, address: str, width: int, scheme: str
) -> None:
    how = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with watched(browser, **how) as (page, said, asked):
        page.goto(f"{address}lessons/high-latency-lab.html")
        frame = page.frame(name="play")
        assert frame is not None
        is_exact(frame)
        assert _violations(page) + _violations(frame) == []
        assert said == []
        assert all(url.startswith((address, "data:")) for url in asked)
