"""Every lesson of docs/lessons is what the simulator gives, and plays in a browser."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from in_browser import is_exact, served, watched
from playwright.sync_api import Browser, Frame, expect

ROOT = Path(__file__).parents[2]
PAGES = sorted(page.stem for page in (ROOT / "docs/lessons").glob("*.md") if page.stem != "README")
JOURNEY = "a browser plays a whole lesson; one of them is always tried"
CAUSES = {
    "window-64-kib",
    "slow-start-geo",
    "short-queue",
    "bufferbloat",
    "policer",
    "one-percent-loss",
    "handover",
    "streams-and-neighbour",
    "what-a-code-buys",
    "send-buffer",
    "reordering",
}


def _published() -> set[str]:
    tables = re.findall(r"^\[([a-z-]+)\]", (ROOT / "python/bentpipe/published.toml").read_text(), re.M)
    return set(tables)


def test_each_published_experiment_and_each_cause_has_a_lesson() -> None:
    assert _published() | CAUSES <= set(PAGES)
    assert len(_published()) >= 4


@pytest.mark.long("every try of every lesson is simulated again")
def test_every_sentence_and_figure_of_the_lessons_is_what_the_simulator_gives(wasm: Path) -> None:
    assert wasm.is_file()
    done = subprocess.run([ROOT / "scripts/lessons", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def address(wasm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of the lessons' widgets as they stand in the pages, with the playground beside them as on the site."""
    site = tmp_path_factory.mktemp("lessons")
    (site / "play").symlink_to(wasm.parent)
    (site / "lessons").mkdir()
    for page in PAGES:
        (site / f"lessons/{page}.html").write_text(
            f'<!doctype html><link rel="icon" href="data:,"><title>{page}</title>{_widget(page)}'
        )
    with served(site) as found:
        yield found


def _text(page: str) -> str:
    return (ROOT / f"docs/lessons/{page}.md").read_text(encoding="utf-8")


def _widget(page: str) -> str:
    found = re.search(r'<div class="lesson">.*?</div>', _text(page), re.S)
    assert found is not None
    return found.group()


def _rows(page: str) -> list[dict[str, str]]:
    """Of the table of tries: its cells by the words in its head."""
    tables = _text(page).split("\n## On a real kernel")[0]
    lines = [line.strip("| ").split(" | ") for line in tables.splitlines() if line.startswith("| ")]
    start = next(place for place, cells in enumerate(lines) if cells[0] == "try")
    return [dict(zip(lines[start], cells, strict=True)) for cells in lines[start + 1 :]]


@pytest.mark.parametrize(
    "page", [PAGES[0], *(pytest.param(each, marks=pytest.mark.long(JOURNEY)) for each in PAGES[1:])]
)
def test_a_lesson_plays_and_shows_the_figures_of_its_text(page: str, browser: Browser, address: str) -> None:
    first, second, *_ = _rows(page)
    with watched(browser) as (tab, said, asked):
        tab.goto(f"{address}lessons/{page}.html")
        frame = tab.frame(name="play")
        assert frame is not None
        expect(frame.locator(".chart canvas").first).to_be_visible()
        _shows(frame, first)
        tab.get_by_role("link", name=second["try"], exact=True).click()
        _shows(frame, second)
        controls = re.findall(r"controls=([^&]+)", frame.url)[0].split(",")
        assert frame.locator(".control").count() == len(controls)
        assert said == []
        assert all(url.startswith((address, "data:")) for url in asked)


def _shows(frame: Frame, row: dict[str, str]) -> None:
    for label, figure in row.items():
        if label == "try" or figure == "none":
            continue
        cells = frame.locator("#figures tr", has=frame.get_by_role("rowheader", name=label, exact=True))
        expect(cells.locator("td").first).to_have_text(figure)
    is_exact(frame)
