"""The page in a browser: what a reader does with it by mouse and keyboard, on a phone, in print."""

from collections.abc import Iterator
from typing import Any

import pytest
import synthetic
from playwright.sync_api import Browser, Locator, Page, expect

from bentpipe.report import html
from bentpipe.runs.store import Results
from chromium import LONG_MS, chromium

RUNS = 48
JOURNEY = "a browser draws the whole page anew for each of these; some are always tried"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of 48 runs: two variants, four round trips, two directions, three seeds."""
    out = tmp_path_factory.mktemp("browser")
    file = out / "page.html"
    html.write(Results.open(synthetic.sweep(out / "sweep", repeat=3, rtts_ms=(11, 30, 150, 550))), file)
    return file.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def new_page(browser: Browser, **how: Any) -> Page:
    page = browser.new_page(**how)
    page.set_default_timeout(LONG_MS)
    return page


@pytest.fixture
def tables(browser: Browser, address: str) -> Iterator[Page]:
    """On a wide screen. Charts are drawn where a reader scrolls to them, which takes a second."""
    opened = new_page(browser, viewport={"width": 1400, "height": 900})
    opened.goto(address)
    expect(opened.get_by_role("status")).to_have_text(f"{RUNS} runs; 12 shown.")
    yield opened
    opened.close()


@pytest.fixture
def page(tables: Page) -> Page:
    """The same with the charts over all runs drawn."""
    tables.locator(".overview .chart").first.scroll_into_view_if_needed()
    expect(tables.locator(".overview .by-key").first).to_be_attached()
    return tables


def shown_runs(page: Page) -> list[str]:
    return page.locator("table.runs tbody tr:visible th").all_inner_texts()


def numbers(cells: Locator) -> list[float]:
    return [float(text.replace("\N{NARROW NO-BREAK SPACE}", "")) for text in cells.all_inner_texts()]


def see_all(page: Page) -> None:
    """Scrolls through the page until every chart is drawn."""
    charts = page.locator(".chart")
    for number in range(charts.count()):
        charts.nth(number).scroll_into_view_if_needed()
        expect(charts.nth(number).locator(".main-svg").first).to_be_attached()


@pytest.mark.long(JOURNEY)
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (400, "dark")])
def test_the_page_is_as_wide_as_the_screen_without_an_error_or_a_request(
    browser: Browser, address: str, width: int, scheme: str
) -> None:
    colours = "dark" if scheme == "dark" else "light"
    page = new_page(browser, viewport={"width": width, "height": 900}, color_scheme=colours)
    errors: list[str] = []
    requests: list[str] = []
    page.on("console", lambda said: errors.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{address}#run=001")
    expect(page.locator("article.run")).to_be_visible()
    see_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert errors == []
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [address]
    page.close()


@pytest.mark.long(JOURNEY)
def test_on_a_phone_each_run_is_one_line_of_the_table(browser: Browser, address: str) -> None:
    page = new_page(browser, viewport={"width": 400, "height": 900})
    page.goto(address)
    lines = "rows => rows.map(row => Math.max(...[...row.cells].map(cell => {"
    lines += " const all = document.createRange(); all.selectNodeContents(cell);"
    lines += " return new Set([...all.getClientRects()].map(line => line.top)).size; })))"
    assert set(page.locator("table.runs tbody tr:visible").evaluate_all(lines)) == {1}
    page.close()


def test_a_column_sorts_by_the_keyboard_and_says_so(tables: Page) -> None:
    head = tables.locator("table.runs thead th", has_text="goodput").first
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    place = head.evaluate("head => head.cellIndex")
    cells = tables.locator(f"table.runs tbody tr:visible :nth-child({place + 1})")
    rising = numbers(cells)
    assert rising == sorted(rising)
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    falling = numbers(cells)
    assert falling == sorted(falling, reverse=True)
    assert falling[0] > rising[0]


def test_a_point_of_a_chart_opens_its_run(page: Page) -> None:
    place = page.locator(".overview .scatterlayer .trace:has(.points path) .points path").first.bounding_box()
    assert place
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    expect(page.locator("article.run")).to_be_visible()
    expect(page.locator("article.run .steps")).to_contain_text("runs of this point")
    assert "#run=" in page.url


@pytest.mark.long(JOURNEY)
def test_the_keyboard_opens_a_points_run_and_closes_it(page: Page) -> None:
    control = page.locator(".overview .by-key").first
    control.locator("select").focus()
    expect(control).to_be_in_viewport()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    article = page.locator("article.run")
    expect(article).to_be_focused()
    page.keyboard.press("Escape")
    expect(article).to_have_count(0)
    assert page.evaluate("document.activeElement.matches('table.runs a')")


@pytest.mark.long(JOURNEY)
def test_tab_reaches_every_control_that_is_shown(page: Page) -> None:
    reached = page.evaluate(
        """() => [...document.querySelectorAll("a, button, select, input, summary")]
            .filter((each) => each.checkVisibility() && each.tabIndex < 0).map((each) => each.outerHTML)"""
    )
    assert reached == []
    clickable = page.evaluate(
        """() => [...document.querySelectorAll("table.runs tr")]
            .filter((row) => !row.querySelector("a, button")).length"""
    )
    assert clickable == 0


@pytest.mark.long(JOURNEY)
def test_a_runs_charts_zoom_and_hide_curves_by_the_keyboard(page: Page) -> None:
    page.goto(page.url + "#run=001")
    start = page.get_by_label("from, in seconds")
    expect(start).not_to_have_value("")
    start.fill("5")
    start.press("Enter")
    page.get_by_label("to, in seconds").fill("10")
    page.get_by_label("to, in seconds").press("Tab")
    first = page.locator("article.run .chart").first
    expect(first.locator(".xtick text").first).to_have_text("5")
    curves = page.locator("article.run details.by-key").first
    curves.locator("summary").press("Enter")
    box = curves.get_by_role("checkbox").first
    lines = first.locator(".scatterlayer .trace")
    before = lines.count()
    box.press("Space")
    expect(lines).to_have_count(before - 1)


@pytest.mark.long(JOURNEY)
def test_every_chart_has_its_sentence_as_its_alternative_in_text(page: Page) -> None:
    page.goto(page.url + "#run=001")
    expect(page.locator("article.run")).to_be_visible()
    charts = page.locator(".chart").evaluate_all(
        """(all) => all.map((chart) => ({
            role: chart.getAttribute("role"),
            label: chart.getAttribute("aria-label"),
            words: chart.closest("figure").querySelector("figcaption").textContent,
            note: chart.closest("section.overview")?.querySelector("p.note").textContent ?? "",
        }))"""
    )
    assert len(charts) > 5
    for chart in charts:
        assert chart["role"] == "img"
        assert chart["label"].count(" ") > 4
        said = chart["label"].replace(". ", "", 1).replace(".", "")
        assert said.startswith(chart["words"].replace(".", "")) or chart["note"] in chart["label"]


@pytest.mark.long(JOURNEY)
def test_an_address_that_names_no_run_opens_none_and_is_no_error(browser: Browser, address: str) -> None:
    page = new_page(browser)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for end in ("#run=%E0%A4%A", "#run=nobody"):
        page.goto(f"{address}{end}")
        expect(page.locator("#found")).to_contain_text("runs")
        page.wait_for_timeout(500)
        assert page.locator("article").count() == 0
    page.close()
    assert errors == []


@pytest.mark.long(JOURNEY)
def test_a_filter_announces_how_many_runs_it_finds(tables: Page) -> None:
    status = tables.get_by_role("status")
    expect(status).to_have_attribute("aria-live", "polite")
    expect(status).to_have_text(f"{RUNS} runs; 12 shown.")
    tables.locator("#filter").fill("550 ms down")
    expect(status).to_have_text(f"6 of {RUNS} runs match.")
    assert len(shown_runs(tables)) == 6
    tables.locator("#filter").fill("no such run")
    expect(status).to_have_text(f"0 of {RUNS} runs match.")


@pytest.mark.long(JOURNEY)
def test_a_long_table_folds_opens_by_a_key_and_prints_what_is_open(tables: Page) -> None:
    assert len(shown_runs(tables)) == 12
    more = tables.get_by_role("button", name=f"Show all {RUNS} rows")
    expect(more).to_have_attribute("aria-expanded", "false")
    tables.emulate_media(media="print")
    assert len(shown_runs(tables)) == 12
    expect(tables.locator("#runs .more")).to_be_hidden()
    tables.emulate_media(media="screen")
    more.press("Enter")
    assert len(shown_runs(tables)) == RUNS
    tables.emulate_media(media="print")
    assert len(shown_runs(tables)) == RUNS


@pytest.mark.long(JOURNEY)
def test_dark_charts_have_light_ink_and_paper_is_white(page: Page) -> None:
    ink = ".overview .chart .xtick text"
    light = page.locator(ink).first.evaluate("text => getComputedStyle(text).fill")
    page.emulate_media(color_scheme="dark")
    expect(page.locator(ink).first).not_to_have_css("fill", light)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.long(JOURNEY)
def test_without_scripts_the_tables_are_whole(browser: Browser, address: str) -> None:
    page = new_page(browser, java_script_enabled=False)
    page.goto(address)
    assert page.locator("table.runs tbody tr:visible").count() == RUNS
    page.close()
