"""The playground compares over seeds, opens lab files and saves charts, and a screen reader finds its way."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from in_browser import is_exact, opened, served
from playwright.sync_api import Browser, Page, expect

ROOT = Path(__file__).parents[2]
JOURNEY = "a browser opens the playground for each of these; a few are always tried"
SHORT = "duration=2000000000&rateDown=5000000&rtt=50000000"
LAB = """
duration = "2 s"
[path]
preset = "leo"
queue = "100 kB"
mtu = 900
[[workload]]
kind = "bulk"
streams = 3
"""

SVG = "{http://www.w3.org/2000/svg}"

OF_STYLE = """
(names) => names.map((name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim())
"""

COLOURS = """
(canvas, names) => {
  const style = getComputedStyle(document.documentElement);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set(new Uint32Array(data.buffer));
  return names.filter((name) => {
    const colour = style.getPropertyValue(name).trim();
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return found.has((0xff000000 | (blue << 16) | (green << 8) | red) >>> 0);
  });
}
"""
"""Those of the style sheet's colours that the canvas has."""


@pytest.fixture(scope="module")
def address(wasm: Path) -> Iterator[str]:
    with served(wasm.parent) as found:
        yield found


@pytest.mark.long(JOURNEY)
def test_a_comparison_over_seeds_says_how_many_and_ends_when_a_setting_changes(
    browser: Browser, address: str
) -> None:
    with opened(browser, f"{address}#{SHORT}&queue=20000&pinned&pin.{SHORT.replace('&', '&pin.')}") as (
        page,
        said,
        _,
    ):
        expect(page.locator("#comparison")).to_contain_text("queue 20 kB instead of 1 MB")
        page.get_by_role("button", name="Over 5 seeds").click()
        sentence = page.locator("#over-seeds")
        expect(sentence).to_contain_text("With queue 20 kB instead of 1 MB, over 5 pairs of seeds: goodput ")
        expect(page.get_by_role("button", name="Over 5 seeds")).to_be_visible()
        page.get_by_label("Queue, typed").fill("30 kB")
        page.get_by_label("Queue, typed").press("Enter")
        expect(sentence).to_have_text("")
        assert said == []


def _is_open(page: Page) -> None:
    expect(page.locator("#opened")).to_have_text(
        "The lab file is open. The page has no control for: path.mtu."
    )
    expect(page.locator("#set-rtt-text")).to_have_value("40 ms")
    expect(page.locator("#set-streams-text")).to_have_value("3")
    is_exact(page)


def test_a_lab_file_is_opened_by_a_button_and_by_a_drop(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#{SHORT}") as (page, said, _):
        file = {"name": "lab.toml", "mimeType": "application/toml", "buffer": LAB.encode()}
        page.locator("#lab-file").set_input_files(files=[file])  # type: ignore[list-item]
        _is_open(page)
        page.get_by_role("button", name="Start again").click()
        expect(page.locator("#set-streams-text")).to_have_value("1")
        dropped = page.evaluate_handle(
            """(text) => {
                const it = new DataTransfer();
                it.items.add(new File([text], "lab.toml"));
                return it;
            }""",
            LAB,
        )
        page.dispatch_event("body", "drop", {"dataTransfer": dropped})
        _is_open(page)
        assert said == []


@pytest.mark.long(JOURNEY)
def test_a_hostile_file_is_refused_as_text(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#{SHORT}") as (page, said, _):
        for text in ("<img src=x onerror=alert(1)>", '"<img src=x onerror=alert(1)>" = 1\n'):
            file = {"name": "<b>.toml", "mimeType": "text/html", "buffer": text.encode()}
            page.locator("#lab-file").set_input_files(files=[file])  # type: ignore[list-item]
            expect(page.locator("#opened")).to_contain_text("file")
            assert page.locator("#opened *, img, body b").count() == 0
        assert said == []


@pytest.mark.long(JOURNEY)
def test_the_charts_are_saved_as_svg(browser: Browser, address: str, tmp_path: Path) -> None:
    with opened(browser, f"{address}#{SHORT}") as (page, said, _):
        root = ET.parse(_saved(page, "SVG", tmp_path)).getroot()
        lines = [path.get("d", "") for path in root.iter(f"{SVG}path")]
        assert len(lines) == 8
        assert "NaN" not in "".join(lines)
        assert lines[1].count("L") == 19
        assert said == []


@pytest.mark.long(JOURNEY)
def test_a_sequence_that_is_shown_is_saved_with_the_charts(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    with opened(browser, f"{address}#{SHORT}&loss=0.01") as (page, said, _):
        charts = [_saved(page, name, tmp_path).stat().st_size for name in ("PNG", "SVG")]
        page.get_by_role("button", name="Zoom in on this time").press("Enter")
        picture = page.locator("#sequence").get_by_role("img")
        expect(picture).to_have_accessible_name(re.compile("packet by packet"))
        sent, again = map(
            int,
            re.findall(r"([0-9]+) segments sent, ([0-9]+)", picture.get_attribute("aria-label") or "")[0],
        )
        assert _saved(page, "PNG", tmp_path).stat().st_size > charts[0]
        root = ET.parse(_saved(page, "SVG", tmp_path)).getroot()
        (group,) = (it for it in root.iter(f"{SVG}g") if it.get("clip-path") == "url(#clip-sequence)")
        colours = [path.get("stroke") for path in group.iter(f"{SVG}path")]
        blue, red = page.evaluate(OF_STYLE, ["--goodput", "--drops"])
        assert colours.count(blue) == sent - again
        # A line, and the diamond on it.
        assert colours.count(red) == 2 * again > 0
        assert not [path for path in group.iter(f"{SVG}path") if "NaN" in path.get("d", "NaN")]
        page.get_by_role("button", name="Zoom in on this time").press("Enter")
        expect(page.locator("#sequence")).to_be_hidden()
        assert _saved(page, "SVG", tmp_path).stat().st_size == charts[1]
        assert said == []


def _saved(page: Page, name: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name=name, exact=True).click()
    path = folder / f"playground.{name.lower()}"
    download.value.save_as(path)
    return path


@pytest.mark.long(JOURNEY)
def test_a_zoom_shows_the_sequence_of_one_stream_and_ends(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#{SHORT}&queue=20000") as (page, said, _):
        sequence = page.locator("#sequence")
        zoom = page.get_by_role("button", name="Zoom in on this time")
        assert not sequence.is_visible()
        zoom.press("Enter")
        expect(sequence.get_by_role("img")).to_have_accessible_name(
            re.compile(
                r"^From 0\.800 to 1\.200 s, packet by packet: [0-9]+ segments sent, [0-9]+ of them again; "
                r"[0-9]+ acknowledgements received, [0-9]+ of them selective; [0-9.]+ kB acknowledged\.$"
            )
        )
        expect(zoom).to_have_attribute("aria-pressed", "true")
        zoom.press("Enter")
        expect(sequence).to_be_hidden()
        chart = page.locator("#charts .u-over").first.bounding_box()
        assert chart is not None
        page.mouse.move(chart["x"] + 40, chart["y"] + 50)
        page.mouse.down()
        page.mouse.move(chart["x"] + 200, chart["y"] + 50, steps=4)
        page.mouse.up()
        expect(sequence).to_be_visible()
        assert said == []


def test_a_group_of_settings_is_reached_by_a_few_keys(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#{SHORT}", viewport={"width": 1300, "height": 900}) as (page, said, _):
        bar = page.get_by_role("toolbar", name="Go to")
        assert (bar.bounding_box() or {"y": 0})["y"] < 0
        keys = ["Tab", *["ArrowRight"] * 4, "Enter", *["Tab"] * 4]
        for key in keys[:5]:
            page.keyboard.press(key)
        expect(bar.get_by_role("button", name="Work")).to_be_focused()
        assert (bar.bounding_box() or {"y": -1})["y"] >= 0
        for key in keys[5:]:
            page.keyboard.press(key)
        expect(page.get_by_label("Users, typed")).to_be_focused()
        page.keyboard.type("30")
        page.keyboard.press("Enter")
        assert "users=30" in page.url
        headings = page.get_by_role("heading", level=2)
        groups = ["Path", "Disturbances", "Hosts", "At both ends of the path", "Work", "Run"]
        assert headings.all_inner_texts() == groups
        names = bar.get_by_role("button").all_inner_texts()
        assert names == [*groups, "Results"]
        bar.get_by_role("button", name="Results").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Pin this run")).to_be_focused()
        assert said == []


def test_a_packet_is_chosen_by_keyboard_and_mouse_and_the_time_is_moved(
    browser: Browser, address: str
) -> None:
    with opened(browser, f"{address}#{SHORT}&loss=0.01", viewport={"width": 1400, "height": 900}) as (
        page,
        said,
        _,
    ):
        page.get_by_role("button", name="Zoom in on this time").press("Enter")
        sequence = page.locator("#sequence")
        picture = sequence.get_by_role("img")
        expect(picture).to_have_accessible_name(re.compile("^From 0.800 to 1.200 s, packet by packet: "))
        packet, told = page.get_by_label("Packet", exact=True), page.locator("#sequence output")
        packet.press("Home")
        first = told.inner_text()
        assert re.match(r"0\.8[0-9]{3} s: ", first)
        packet.press("ArrowRight")
        expect(told).not_to_have_text(first)
        expect(packet).to_have_attribute("aria-valuetext", told.inner_text())
        over = sequence.locator(".u-over")
        box = over.bounding_box()
        assert box is not None
        over.hover(position={"x": box["width"] - 4, "y": 20})
        expect(told).to_have_text(re.compile(r"^1\.[12][0-9]{3} s: "))
        colours = sequence.locator("canvas").evaluate(COLOURS, ["--goodput", "--drops", "--cwnd", "--ping"])
        assert colours == ["--goodput", "--drops", "--cwnd", "--ping"]
        for button, time in (
            ("Closer", "0.900 to 1.100"),
            ("Later", "1.000 to 1.200"),
            ("Wider", "0.900 to 1.300"),
        ):
            sequence.get_by_role("button", name=button).press("Enter")
            expect(picture).to_have_accessible_name(re.compile(f"^From {time} s, packet by packet: "))
        page.get_by_label("Loss, typed").fill("3 %")
        page.get_by_label("Loss, typed").press("Enter")
        is_exact(page)
        expect(picture).to_have_accessible_name(re.compile("^From 0.900 to 1.300 s, packet by packet: "))
        assert said == []


@pytest.mark.long(JOURNEY)
def test_too_many_packets_are_drawn_from_samples_until_the_time_is_short(
    browser: Browser, address: str
) -> None:
    with opened(browser, f"{address}#duration=4000000000&rateDown=100000000&rtt=20000000") as (page, said, _):
        page.get_by_role("button", name="Zoom in on this time").press("Enter")
        sequence = page.locator("#sequence")
        expect(sequence.locator("figcaption")).to_contain_text("from samples")
        assert not page.get_by_label("Packet", exact=True).is_visible()
        for _press in range(3):
            before = sequence.get_by_role("img").get_attribute("aria-label")
            sequence.get_by_role("button", name="Closer").press("Enter")
            expect(sequence.get_by_role("img")).not_to_have_attribute("aria-label", before or "")
        expect(sequence.locator("figcaption")).to_contain_text("packet by packet")
        expect(page.get_by_label("Packet", exact=True)).to_be_visible()
        assert said == []


@pytest.mark.long(JOURNEY)
def test_packets_are_chosen_by_touch_on_a_phone(browser: Browser, address: str) -> None:
    how = {"viewport": {"width": 400, "height": 800}, "has_touch": True, "is_mobile": True}
    with opened(browser, f"{address}#{SHORT}", **how) as (page, said, _):
        page.get_by_role("button", name="Zoom in on this time").tap()
        sequence = page.locator("#sequence")
        expect(sequence).to_be_visible()
        told, over = sequence.locator("output"), sequence.locator(".u-over")
        over.scroll_into_view_if_needed()
        over.tap(position={"x": 3, "y": 100})
        expect(told).to_have_text(re.compile(r"^0\.8[0-9]{3} s: "))
        sequence.get_by_role("button", name="Closer").tap()
        expect(sequence.get_by_role("img")).to_have_accessible_name(re.compile("^From 0.900 to 1.100 s"))
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        assert said == []


@pytest.mark.long(JOURNEY)
def test_a_phone_is_used_by_touch(browser: Browser, address: str) -> None:
    how = {"viewport": {"width": 400, "height": 800}, "has_touch": True, "is_mobile": True}
    with opened(browser, f"{address}#{SHORT}", **how) as (page, said, _):
        page.get_by_role("button", name="Pin this run").tap()
        slider = page.get_by_label("Queue", exact=True)
        slider.scroll_into_view_if_needed()
        slider.tap(position={"x": 60, "y": 12})
        expect(page.locator("#comparison")).to_contain_text(re.compile("With queue .* instead of 1 MB"))
        page.get_by_role("button", name="Play").tap()
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        small = page.locator("button:visible, select:visible, input[type=range]:visible").evaluate_all(
            "(all) => all.filter((it) => it.getBoundingClientRect().height < 24).map((it) => it.id)"
        )
        assert small == []  # WCAG 2.2, 2.5.8
        assert said == []


@pytest.mark.long(JOURNEY)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 400])
def test_axe_finds_nothing_against_accessibility(
    browser: Browser, address: str, width: int, scheme: str
) -> None:
    how = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with opened(browser, f"{address}#{SHORT}&between=gateway&pinned", **how) as (page, _, _asked):
        page.get_by_role("button", name="Zoom in on this time").press("Enter")
        expect(page.get_by_label("Packet", exact=True)).to_be_visible()
        page.evaluate((ROOT / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8"))
        found = page.evaluate("axe.run()")
        assert len(found["passes"]) > 10
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]] == []
