"""The page of `bentpipe web` in a browser: a lab runs to its end, and hostile text is only text."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

from bentpipe.web.runs_list import SCHEMA, RunsList
from chromium import LONG_MS
from invocation import called
from local_web import ROOT, Running, served

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
LAB = f"""
title = "{HOSTILE}"
duration = "3 s"
[path]
rate = "16 Mbit/s"
rtt = "100 ms"
queue = "100 kB"
[[workload]]
name = "download"
kind = "bulk"
"""
SWEEP = '[sweep]\n"path.rtt" = ["20 ms", "60 ms", "100 ms"]\n"path.queue" = ["20 kB", "100 kB"]\n'
JOURNEY = "a browser uses the local page for each of these; one is always tried"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, page: Path, wasm: Path) -> Iterator[Running]:
    """With the playground in it: these tests take seconds, and are for .ci/run, or where it is built."""
    assert page.is_file()
    assert wasm.is_file()
    folder = tmp_path_factory.mktemp("browsed")
    (folder / "swept.toml").write_text(LAB + SWEEP)
    assert called(["run", "swept.toml", "--out", f"runs/{HOSTILE[:28]}", "--quiet"], folder).status == 0
    with served(folder / "runs") as running:
        yield running


@pytest.fixture
def opened(browser: Browser, server: Running) -> Iterator[Page]:
    """Fails where the console says anything, something is alerted, or another host is asked."""
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.set_default_timeout(LONG_MS)
    said: list[str] = []
    page.on("console", lambda it: said.append(it.text) if it.type in {"error", "warning"} else None)
    refused = "the server responded with a status of 400"  # what was asked is at fault, and the page says so
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))  # type: ignore[arg-type]
    page.on("request", lambda it: None if it.url.startswith(server.url) else said.append(it.url))
    page.goto(server.url)
    yield page
    page.close()
    assert [each for each in said if refused not in each] == []


def test_a_lab_runs_on_sim_to_its_end(opened: Page) -> None:
    opened.get_by_role("link", name="Start a lab").click()
    opened.get_by_text("The lab's text").click()
    opened.get_by_label("Lab", exact=True).select_option("")
    opened.get_by_role("textbox", name="Name").fill("mine")
    opened.get_by_role("textbox", name="The lab's text").fill(LAB)
    opened.get_by_role("button", name="Start", exact=True).click()
    expect(opened.locator("#job")).to_have_attribute("data-status", "done")
    expect(opened.locator("#job-status")).to_have_text("Done · 1 of 1 run")
    expect(opened.locator("#job-charts canvas")).to_have_count(3)
    expect(opened.locator("#job-lines")).to_contain_text("Mbit/s")
    opened.get_by_role("button", name="Its runs").click()
    expect(opened.locator("#table .line")).to_have_count(1)


@pytest.mark.long(JOURNEY)
def test_the_count_of_runs_comes_with_their_lines(opened: Page) -> None:
    """A line without its run takes no click: none is shown while a slow server answers."""
    opened.route("**/api/runs?*", lambda route: (opened.wait_for_timeout(300), route.continue_()))
    opened.evaluate(
        """() => new MutationObserver(() => {
            const waits = [...document.querySelectorAll("#table .line")].some((it) => it.textContent === "…");
            if (waits) window.waited = true;
        }).observe(document.querySelector("#table"), { childList: true, subtree: true })"""
    )
    opened.get_by_label("Find").fill("20-ms")
    expect(opened.locator("#count")).to_contain_text("2 of ")
    opened.locator("#table .line").first.click()
    expect(opened.locator("#table .line[aria-selected=true]")).to_have_count(1)
    assert opened.evaluate("window.waited") is None
    opened.unroute("**/api/runs?*")


@pytest.mark.long(JOURNEY)
def test_runs_are_compared_and_a_cell_of_a_heat_map_opens_its_run(opened: Page) -> None:
    opened.get_by_label("Find").fill("20-ms")
    expect(opened.locator("#count")).to_contain_text("2 of ")
    for place in (0, 1):
        opened.locator("#table .line").nth(place).click()
    opened.get_by_role("button", name="Compare").click()
    expect(opened.locator("#beside canvas")).to_have_count(2)
    expect(opened.locator("#beside table.figures")).to_contain_text("pipe.down")
    opened.get_by_label("Folder", exact=True).select_option(HOSTILE[:28])
    opened.get_by_role("button", name="Heat map").click()
    expect(opened.locator("table.heat td button")).to_have_count(6)
    with opened.expect_popup() as popup:
        opened.locator("table.heat td button").first.click()
    report = popup.value
    expect(report.locator("h1")).to_contain_text("<img src=x")
    assert report.evaluate("origin") == "null"
    assert report.locator("img[src=x]").count() == 0
    report.close()


@pytest.mark.long(JOURNEY)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_against_the_pages_accessibility(opened: Page, scheme: str) -> None:
    opened.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for view in ("runs", "start", "sql", "watch"):
        opened.evaluate(f"location.hash = '{view}'")
        expect(opened.locator(f"#view-{view}")).to_be_visible()
        if view == "runs":
            expect(opened.locator("#table .line").first).to_contain_text("done")
        opened.evaluate((ROOT / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8"))
        found = opened.evaluate("axe.run({ iframes: false })")
        assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []


@pytest.mark.long(JOURNEY)
def test_what_sql_answers_is_text(opened: Page) -> None:
    opened.get_by_role("link", name="SQL").click()
    opened.get_by_role("textbox", name="The question").fill(
        f"select '{HOSTILE}' as \"{HOSTILE}\", title from runs"
    )
    opened.get_by_role("button", name="Ask").click()
    expect(opened.locator("#answer th").first).to_have_text(HOSTILE)
    expect(opened.locator("#answer td").first).to_have_text(HOSTILE)
    opened.get_by_role("textbox", name="The question").fill(f"select * from '{HOSTILE}'")
    opened.get_by_role("button", name="Ask").click()
    expect(opened.locator("#fault")).to_contain_text(HOSTILE[:10])
    assert opened.locator("img, main script").count() == 0


@pytest.mark.long(JOURNEY)
def test_fifty_thousand_runs_are_browsed_by_a_few_rows_at_a_time(
    browser: Browser, server: Running, tmp_path: Path
) -> None:
    """The list's own table, put in the place of one that was read; the page asks for what is in view."""
    table = pl.DataFrame(
        {name: pl.Series([None] * 50_000, dtype=dtype) for name, dtype in SCHEMA.items()}
    ).with_columns(
        pl.format("many/{}", pl.int_range(50_000)).alias("id"),
        pl.lit("many").alias("folder"),
        pl.format("run {}", pl.int_range(50_000)).alias("run"),
    )
    listed = RunsList(tmp_path)
    listed.refresh()
    listed._table = table
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.set_default_timeout(LONG_MS)
    asked: list[str] = []

    def answer(route: object, request: object) -> None:
        address = str(getattr(request, "url", ""))
        found = dict(each.split("=") for each in address.partition("?")[2].split("&"))
        asked.append(found["first"])
        rows = listed.page(int(found["first"]), int(found["count"]), sort="")
        route.fulfill(body=json.dumps(rows), content_type="application/json")  # type: ignore[attr-defined]

    page.route("**/api/runs?*", answer)
    page.goto(server.url)
    expect(page.locator("#count")).to_have_text("50\u202f000 runs")
    expect(page.locator("#table .line").first).to_contain_text("run 0")
    page.locator("#table").focus()
    page.keyboard.press("End")
    expect(page.locator("#table .line").last).to_contain_text("run 49999")
    page.evaluate("document.getElementById('table').scrollTop = 28 * 25000")
    expect(page.get_by_text("run 25005", exact=True)).to_be_visible()
    assert page.locator("#table .line").count() < 80
    assert len(asked) < 20
    page.close()
