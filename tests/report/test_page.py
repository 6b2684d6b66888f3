"""The page stands alone, holds every run in few bytes, and takes nothing from outside for markup."""

import json
import re
import zlib
from base64 import b64decode
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from bentpipe.charts import files, matplotlib
from bentpipe.report import html, packing
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.store import Results


class Page(HTMLParser):
    """What a page has: its tags, the ids, and where it would fetch from."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name == "src" or (name == "href" and tag == "link"):
                self.fetched.append(value or "")
            if name == "href" and tag == "a":
                self.links.append(value or "")


def test_the_page_needs_nothing_but_itself(sweep: Results, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    html.write(sweep, page)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    found = Page(page.read_text(encoding="utf-8"))
    assert found.fetched == []
    assert page.stat().st_size < 1_000_000


def test_every_link_of_the_page_leads_somewhere_on_it(sweep: Results, sweep_page: str) -> None:
    found = Page(sweep_page)
    runs = {f"#run={run['run']}" for run in sweep.records}
    assert runs < set(found.links)
    assert set(found.links) - runs <= {f"#{name}" for name in found.ids}
    assert len(found.ids) == len(set(found.ids))


def varints(columns: bytes) -> Iterator[int]:
    code = shift = 0
    for byte in columns:
        code |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield code
            code = shift = 0


def column(head: list[int], codes: Iterator[int]) -> list[float | None]:
    length, places, gaps = head
    values: list[float | None] = []
    whole = 0
    for code in islice(codes, length):
        if gaps and code == 0:
            values.append(None)
        else:
            zigzag = code - gaps
            whole += (zigzag >> 1) ^ -(zigzag & 1)
            values.append(whole / 10**places)
    return values


def unpacked(text: str) -> Any:
    """What the page's script makes of a packed text."""
    head, _, columns = zlib.decompress(b64decode(text)).partition(b"\n")
    value, pool = json.loads(head)
    codes = varints(columns)
    held = [column(each["#"], codes) if isinstance(each, dict) else each for each in pool]
    assert next(codes, None) is None

    def put(of: Any) -> Any:
        if isinstance(of, list):
            return [put(inner) for inner in of]
        if isinstance(of, dict):
            return held[of["$"]] if "$" in of else {key: put(inner) for key, inner in of.items()}
        return of

    return put(value)


def parts(page: str) -> list[Any]:
    """The runs' parts that a page holds, in order."""
    groups = re.findall(r'<script type="application/octet-stream" class="group">(.*?)</script>', page)
    return [part for group in groups for part in unpacked(group)]


def test_a_run_has_a_chart_for_every_panel(geo_page: str) -> None:
    (part,) = parts(geo_page)
    assert len(part["figures"]) == len(part["panels"]) == 7
    assert part["heading"] == "rtt 550 ms, direction down, as is, seed 1"


def test_every_run_has_a_row_and_a_part_in_the_same_place(sweep: Results, sweep_page: str) -> None:
    names = [run["run"] for run in sweep.records]
    assert [part["name"] for part in parts(sweep_page)] == names
    assert re.findall(r'<th scope="row"><a href="#run=(\w+)">', sweep_page) == names


def test_what_is_packed_comes_out_again() -> None:
    value = [{"x": [1.5] * 9, "words": "w" * 99, "more": [[1, None], {"x": [1.5] * 9}]}, "w" * 99, []]
    assert unpacked(packing.pack(value)) == value


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(-(10**9), 10**9).map(lambda n: n / 1000),
        ),
        min_size=8,
        max_size=60,
    )
)
def test_a_column_of_numbers_comes_out_as_it_went_in(values: list[float | None]) -> None:
    assert unpacked(packing.pack({"y": values})) == {"y": values}


def test_a_curve_takes_about_a_byte_a_point() -> None:
    curve = [round(20 + 0.05 * (n * n % 7), 2) for n in range(3000)]
    assert len(packing.pack(curve)) < 3000


def test_what_runs_have_alike_costs_once() -> None:
    part = {"spec": "".join(chr(33 + n * n % 90) for n in range(9000)), "x": [n * 0.1 for n in range(900)]}
    one, sixteen = (len(packing.pack([part] * count)) for count in (1, 16))
    assert sixteen < 1.05 * one


@pytest.mark.long("a page of a sweep is made several times, 2.7 s; others hold its size")
def test_charts_over_time_are_thinned_until_the_page_has_its_size(sweep: Results, sweep_page: str) -> None:
    whole = sweep_page
    charts_bytes = sum(map(len, re.findall(r'class="group">(.*?)</script>', whole)))
    thin = html.render(sweep, most_bytes=len(whole.encode()) - charts_bytes // 14)
    assert len(thin.encode()) <= len(whole.encode()) - charts_bytes // 14
    assert "below 5 MB" in thin
    assert "below 5 MB" not in whole
    assert [len(part["panels"]) for part in parts(thin)] == [len(part["panels"]) for part in parts(whole)]


def test_a_failed_run_without_a_figure_has_a_row_and_a_part_that_says_why(tmp_path: Path) -> None:
    synthetic.run(tmp_path, "001")
    failed = {
        "status": "failed",
        "reliable": False,
        "why": ["The engine died."],
        "point": {},
        "workloads": {},
    }
    RunFolder.create(tmp_path, "002").finish({"run": "002", "engine": "live", "pipes": {}} | failed)
    page = html.render(Results.open(tmp_path))
    part = parts(page)[1]
    assert (part["badge"], part["why"], part["figures"]) == ("failed", ["The engine died."], [])
    assert '<td class="bad">failed</td>' in page
    assert '<a href="#run=002">002</a>: The engine died.' in page


def made_up_part(number: int, pixels: int) -> dict[str, Any]:
    """2000 samples of three curves, thinned for that many pixels, and settings as all runs have them."""
    count = min(4 * pixels, 2000)
    curves = [[(number * 7919 + curve * 31 + n * n) % 9973 for n in range(count)] for curve in range(3)]
    return {"name": f"{number}", "spec": '{"rate": 1}' * 400, "figures": [{"y": curve} for curve in curves]}


@pytest.mark.parametrize("count", [10, 100, pytest.param(1000, marks=pytest.mark.long("1000 runs, 1.5 s"))])
def test_runs_are_packed_at_the_finest_width_that_has_room(count: int) -> None:
    most_bytes = 240_000
    packed = packing.packed_runs(count, made_up_part, most_bytes)
    assert sum(map(len, packed.groups)) <= most_bytes
    assert sum(len(unpacked(group)) for group in packed.groups) == count
    assert packed.thinned == (count > 10)
    wider = packing.PIXELS[max(packing.PIXELS.index(packed.pixels) - 1, 0)]
    if packed.thinned:
        groups = [[made_up_part(n, wider) for n in range(at, at + 10)] for at in range(0, count, 10)]
        assert sum(len(packing.pack(group)) for group in groups) > 0.8 * most_bytes


@pytest.mark.long("the page of a sweep of six runs, 2.5 s")
def test_a_run_of_a_sweep_takes_a_few_kilobytes(tmp_path: Path) -> None:
    results = Results.open(synthetic.sweep(tmp_path, repeat=2, rtts_ms=(11, 30, 150)))
    groups = re.findall(r'class="group">(.*?)</script>', html.render(results))
    assert sum(map(len, groups)) / len(results.records) < 5_000


def test_of_many_runs_only_the_charts_over_all_are_drawn_as_files(
    sweep: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "RUNS_DRAWN", 2)
    monkeypatch.setattr(matplotlib, "save", lambda _chart, path: path.touch())
    names = {path.stem for path in files.save_all(sweep, tmp_path, ["svg"])}
    assert names == {chart.name for chart in files.over_all(sweep)}


@pytest.mark.long("one more page of a sweep, 1.6 s")
def test_a_page_without_room_for_charts_over_time_says_so(sweep: Results) -> None:
    page = html.render(sweep, most_bytes=0)
    assert "it has no charts over time" in page
    assert [part["name"] for part in parts(page)] == [run["run"] for run in sweep.records]


@pytest.mark.parametrize(
    "attack", ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "\"><b a='"]
)
def test_nothing_from_outside_is_markup(tmp_path: Path, attack: str) -> None:
    assert tags_with(tmp_path, attack) == tags_with(tmp_path, "harmless")


def tags_with(out: Path, word: str) -> list[str]:
    """The page's tags with `word` wherever a lab, a tool or a machine may put one."""
    figures = {
        "kind": "bulk",
        "direction": "down",
        "goodput_mbit_s": 1.0,
        "per_second_mbit_s": [1.0],
        word: word,
    }
    changes = {
        "title": word,
        "variant": word,
        "engine": word,
        "why": [word],
        "reliable": False,
        "workloads": {word: figures},
        "machine": {"kernel": word, "offload": {word: True}},
        "versions": {"iperf3": word, "x" + word: "3.11"},
        "point": {"path.rtt": word, "x." + word: "down"},
        "sysctl": {host: {"net.ipv4.tcp_rmem": word, "x" + word: "c"} for host in ("client", "server")},
        "published": "effects-of-latency",
    }
    number = len(list(out.iterdir()))
    place = synthetic.run(out, f"{number}", changes=changes)
    return Page(html.render(Results.open(place))).tags
