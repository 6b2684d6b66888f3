"""The playground in a browser: its first picture, a slider, its address, and that it asks no other host."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from in_browser import LONG_MS, is_exact, opened, served, watched
from playwright.sync_api import Browser, expect

import bentpipe

SHORT = "duration=3000000000&rateDown=5000000"
"""Settings of a run that is simulated at once."""
JOURNEY = "a browser opens the playground for each of these; a few are always tried"


@pytest.fixture(scope="module")
def address(wasm: Path) -> Iterator[str]:
    """Of a static server that has the built folder."""
    with served(wasm.parent) as found:
        yield found


@pytest.mark.parametrize(
    ("width", "scheme"), [(1300, "light"), pytest.param(400, "dark", marks=pytest.mark.long(JOURNEY))]
)
def test_a_run_is_drawn_without_an_error_or_a_request_to_another_host(
    browser: Browser, address: str, width: int, scheme: str
) -> None:
    colours = "dark" if scheme == "dark" else "light"
    how = {"viewport": {"width": width, "height": 900}, "color_scheme": colours, "reduced_motion": "reduce"}
    with opened(browser, f"{address}#{SHORT}", **how) as (page, said, asked):
        expect(page.locator(".chart canvas")).to_have_count(5)
        expect(page.locator("#figures")).to_contain_text("goodput")
        drawn = page.locator(".chart canvas").first.evaluate(
            """(canvas) => new Set(new Uint32Array(
                canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""
        )
        assert drawn > 3
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert said == []
        assert {url.split("#")[0] for url in asked if not url.startswith("data:")} == {
            address,
            *(f"{address}{name}" for name in ("style.css", "main.js", "worker.js", "bentpipe.wasm")),
        }


TRAPS_AT_SEED_7 = """
const instantiate = WebAssembly.instantiate;
WebAssembly.instantiate = async (...given) => {
  const { exports } = await instantiate(...given);
  let at = 0, length = 0;
  return { exports: {
    ...exports,
    input: (bytes) => (length = bytes, at = exports.input(bytes)),
    advance: () => {
      const asked = new TextDecoder().decode(new Uint8Array(exports.memory.buffer, at, length));
      if (asked.includes('"seed":7,')) throw new WebAssembly.RuntimeError("unreachable");
      return exports.advance();
    },
  } };
};
"""
"""In front of the worker's program: the simulator ends at one seed as a panic ends it."""


def test_a_simulator_that_stops_says_so_and_marks_what_is_shown(
    browser: Browser, address: str, wasm: Path
) -> None:
    program = TRAPS_AT_SEED_7 + (wasm.parent / "worker.js").read_text()
    with watched(browser) as (page, said, _):
        page.route("**/worker.js", lambda route: route.fulfill(body=program, content_type="text/javascript"))
        page.goto(f"{address}#{SHORT}")
        is_exact(page)
        page.evaluate("hash => { location.hash = hash; }", f"#{SHORT}&seed=7")
        expect(page.locator("#status")).to_have_attribute("data-state", "error")
        expect(page.locator("#status")).to_contain_text("an error of its own (unreachable)")
        expect(page.locator("#status")).to_contain_text("of the settings before")
        expect(page.get_by_role("button", name="CSV")).to_be_disabled()
        page.evaluate("hash => { location.hash = hash; }", f"#{SHORT}&seed=6")
        is_exact(page)
        expect(page.locator("body")).not_to_have_class("stale")
        expect(page.get_by_role("button", name="CSV")).to_be_enabled()
        page.get_by_role("button", name="Pin this run").click()
        page.get_by_role("button", name="Over 5 seeds").click()
        expect(page.locator("#over-seeds")).to_contain_text("The simulator stopped")
        expect(page.locator("#status")).to_have_attribute("data-state", "exact")
        expect(page.get_by_role("button", name="Over 5 seeds")).to_be_visible()
        assert said == []


def test_a_slider_redraws_and_the_address_gives_the_same_figures(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#{SHORT}") as (page, said, _):
        before = page.locator("#figures").inner_text()
        slider = page.get_by_label("Rate, down", exact=True)
        runs = int(page.locator("#status").get_attribute("data-runs") or 0)
        slider.focus()
        for _press in range(8):
            page.keyboard.press("PageUp")
        expect(page.locator("#status")).not_to_have_attribute("data-runs", str(runs))
        expect(page.locator("#figures")).not_to_have_text(before)
        assert slider.get_attribute("aria-valuetext") == page.locator("#set-rateDown-text").input_value()
        is_exact(page)
        shown = page.locator("#figures").inner_text()
        with opened(browser, page.url) as (again, _said, _asked):
            assert again.locator("#figures").inner_text() == shown
        assert said == []


@pytest.mark.long(JOURNEY)
def test_a_pinned_run_is_compared_in_a_sentence_and_kept_in_the_address(
    browser: Browser, address: str
) -> None:
    with opened(browser, f"{address}#{SHORT}") as (page, said, _):
        page.get_by_role("button", name="Pin this run").click()
        page.get_by_label("Queue, typed").fill("40 kB")
        page.get_by_label("Queue, typed").press("Enter")
        sentence = page.locator("#comparison")
        expect(sentence).to_contain_text("With queue 40 kB instead of 1 MB: goodput ")
        with opened(browser, page.url) as (again, _said, _asked):
            expect(again.locator("#comparison")).to_have_text(sentence.inner_text())
        assert said == []


@pytest.mark.long(JOURNEY)
def test_a_run_is_pinned_while_it_is_simulated(browser: Browser, address: str) -> None:
    with watched(browser) as (page, said, _):
        page.goto(f"{address}#users=30&duration=10000000000")
        page.get_by_role("button", name="Pin this run").click()
        expect(page.get_by_role("button", name="Take the pin off")).to_be_visible()
        expect(page.locator("#comparison")).to_contain_text("The pinned run has the same settings.")
        assert "pin.users=30" in page.url
        assert said == []


@pytest.mark.long(JOURNEY)
def test_the_lab_file_runs_and_gives_the_goodput_that_was_shown(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    with opened(browser, f"{address}#{SHORT}") as (page, _, _asked):
        with page.expect_download() as download:
            page.get_by_role("button", name="Lab file").click()
        lab = tmp_path / "playground.toml"
        download.value.save_as(lab)
        goodput = page.locator("#figures td").first.inner_text()
    run = bentpipe.simulate(bentpipe.Lab.load(lab))
    simulated = run.record["pipes"]["down"]["goodput_mbit_s"]
    assert float(goodput.removesuffix(" Mbit/s")) == pytest.approx(simulated, rel=0.006)


@pytest.mark.long(JOURNEY)
@pytest.mark.parametrize(
    "hostile",
    [
        "rateDown=<img src=x onerror=alert(1)>",
        'congestionControl="><script>alert(1)</script>',
        "discipline=__proto__&sack=constructor&__proto__[polluted]=1",
        "seed=1e999&streams=-5&users=NaN&queue=%E0%A4%A&rtt=0x10",
        "pinned&pin.queue='-alert(1)-'&pin.congestionControl=${alert(1)}",
        "duration=300000000000000000000&rateDown=9e99",
        "javascript:alert(1)//" + "A" * 20000,
    ],
)
def test_a_hostile_address_is_not_taken(browser: Browser, address: str, hostile: str) -> None:
    for written in (hostile, quote(hostile, safe="=&.")):
        page = browser.new_page()
        alerts: list[str] = []
        said: list[str] = []
        page.on("dialog", lambda dialog, alerts=alerts: (alerts.append(dialog.message), dialog.dismiss()))  # type: ignore[misc]
        page.on("pageerror", lambda error, said=said: said.append(str(error)))  # type: ignore[misc]
        page.set_default_timeout(LONG_MS)
        page.goto(f"{address}#{SHORT}&{written}")
        is_exact(page)
        expect(page.locator("#set-congestionControl")).to_have_value("cubic")
        assert page.locator("img, script:not([src='main.js'])").count() == 0
        assert page.evaluate("({}).polluted") is None
        assert (alerts, said) == ([], [])
        page.close()


@pytest.mark.long(JOURNEY)
def test_the_answer_for_thirty_users_and_a_short_queue_takes_three_steps(
    browser: Browser, address: str
) -> None:
    with opened(browser, f"{address}#duration=5000000000") as (page, said, _):
        page.get_by_label("Users, typed").fill("30")
        page.get_by_label("Users, typed").press("Enter")
        expect(page.locator("#figures")).to_contain_text("median of the users' files")
        is_exact(page)
        page.get_by_role("button", name="Pin this run").click()
        page.get_by_label("Queue, typed").fill("400 kB")
        page.get_by_label("Queue, typed").press("Enter")
        expect(page.locator("#comparison")).to_contain_text("With queue 400 kB instead of 1 MB: goodput ")
        expect(page.locator("#comparison")).to_contain_text("median of the users' files ")
        assert said == []


@pytest.mark.long(JOURNEY)
def test_a_gateway_has_its_controls_and_only_then(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#{SHORT}&loss=0.01") as (page, said, _):
        assert not page.get_by_label("Gateway: rate, down, typed").is_visible()
        page.get_by_role("button", name="Pin this run").click()
        page.get_by_label("Proxy or tunnel").select_option("gateway")
        expect(page.get_by_label("Gateway: rate, down, typed")).to_be_visible()
        expect(page.locator("#comparison")).to_contain_text("With proxy or tunnel gateway instead of none: ")
        assert "between=gateway" in page.url
        assert said == []


@pytest.mark.long(JOURNEY)
def test_the_time_is_scrubbed_hovered_and_played_on_one_clock(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#{SHORT}", reduced_motion="reduce") as (page, said, _):
        picture = page.locator("svg.path")
        slider = page.get_by_label("Time in the run")
        expect(slider).to_have_attribute("aria-valuetext", "1.5 s")
        slider.press("ArrowRight")
        expect(picture).to_have_attribute(
            "aria-label", re.compile(r"^The path at 1\.6 s: queue .* kB of 1 MB, ")
        )
        expect(page.locator("#charts .u-legend .u-value").first).to_have_text("1.6 s")
        page.locator("#charts .u-over").first.hover(position={"x": 5, "y": 20})
        expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^0\.[0-9] s$"))
        page.mouse.move(0, 0)
        page.get_by_role("button", name="Play").press("Enter")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        before = slider.get_attribute("aria-valuetext")
        expect(slider).not_to_have_attribute("aria-valuetext", before or "")
        page.get_by_role("button", name="Pause").press("Enter")
        expect(page.get_by_role("button", name="Play")).to_be_visible()
        assert said == []
