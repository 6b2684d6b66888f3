"""The table fits a terminal; the page stands alone and takes nothing from outside for markup."""

import io
import json
import re
import zlib
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import records
import synthetic
from rich.console import Console

from bentpipe.charts import files
from bentpipe.report import comparison, engine_words, html, packing, terminal
from bentpipe.report.asked_words import asked_words
from bentpipe.results import Results
from bentpipe.results.comparisons import compare_all


def printed(results: Results, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(terminal.table(results))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


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


def test_the_table_fits_80_columns_and_cuts_no_figure(tmp_path: Path) -> None:
    results = Results.open(synthetic.sweep(tmp_path, repeat=2))
    text = printed(results, 80)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "…" not in text


def test_the_table_puts_ours_beside_the_published(sweep: Results) -> None:
    line = next(
        line for line in printed(sweep, 80).splitlines() if line.startswith("550 ms") and "up" in line
    )
    assert "34.7" in line
    assert line.rstrip().endswith("yes")


def test_the_table_says_why_a_run_does_not_count(sweep: Results) -> None:
    text = " ".join(printed(sweep, 80).split())
    assert "One packet in a hundred left 2.4 ms or more" in text
    assert "NO" in text


def test_a_title_is_no_markup_for_the_terminal(tmp_path: Path) -> None:
    results = Results.open(synthetic.run(tmp_path, changes={"title": "[red]not red[/red]"}))
    assert "[red]not red[/red]" in printed(results, 80)


def test_things_tried_stand_side_by_side_with_their_speed_up(tmp_path: Path) -> None:
    for number, (variant, seconds) in enumerate({"as is": 12.0, "tuned": 4.0, "8 streams": 2.0}.items()):
        changes = {"variant": variant, "point": {"path_kind": "GEO"}, "published": None}
        entry = {"page": records.http([seconds])}
        synthetic.run(tmp_path, f"{number}", changes=changes | {"workloads": entry})
    lines = printed(Results.open(tmp_path), 80).splitlines()
    tuned = next(line for line in lines if line.startswith("tuned"))
    assert tuned.split()[1:3] == ["4", "3"]
    assert not any("path_kind" in line for line in lines)


def test_a_narrow_terminal_leaves_out_what_it_may_and_cuts_nothing(tmp_path: Path) -> None:
    for number, variant in enumerate(("as is", "a thing with a name that is rather long")):
        record = records.high_latency_lab(variant=variant)
        record["workloads"]["fetch"]["bytes"] = 104857601
        synthetic.run(tmp_path, f"{number}", changes=record)
    results = Results.open(tmp_path)
    wide, narrow = (printed(results, width) for width in (160, 80))
    assert "range" in wide
    assert "range" not in narrow
    assert max(len(line) for line in narrow.splitlines()) <= 80
    assert "…" not in narrow


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"kind": "bulk", "size_bytes": 40_000_000, "streams": 8}, "40 MB, 8 streams"),
        ({"kind": "bulk", "time_ns": 30 * 10**9, "streams": 1}, "30 s"),
        ({"kind": "http", "size_bytes": 104857601, "fetches": 5}, "a file of 105 MB, 5 times"),
        (
            {"kind": "http", "objects_bytes": [1000, 2000], "connections": 6},
            "a page of 2 objects, 3 kB, 6 connections",
        ),
        ({"kind": "channels", "channels": 20, "servers": 23}, "20 channels to 23 servers"),
        ({"kind": "exec"}, ""),
    ],
)
def test_what_was_asked_is_said_in_a_few_words(spec: dict[str, object], words: str) -> None:
    assert asked_words(spec).replace("\N{NO-BREAK SPACE}", " ") == words


def test_each_kind_of_work_has_a_table_of_its_own(tmp_path: Path) -> None:
    works = {"page": records.http([2.5]), "transfer": records.bulk(10.0)}
    results = Results.open(synthetic.run(tmp_path, changes={"workloads": works}))
    text = printed(results, 80)
    assert text.index("Transfers") < text.index("Fetches")
    assert max(len(line) for line in text.splitlines()) <= 80
    assert html.render(results).count('<table class="figures">') == 2


def compared(*folders: Path, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(comparison.render(compare_all([Results.open(folder) for folder in folders])))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_comparison_has_a_table_for_each_kind(tmp_path: Path) -> None:
    works = {"page": records.http([2.5]), "transfer": records.bulk(10.0)}
    for name in ("a", "b"):
        synthetic.run(tmp_path / name, changes={"workloads": works})
    lines = compared(tmp_path / "a", tmp_path / "b")
    for title in ("Fetches: page", "Transfers: transfer"):
        assert lines.count(title) == 2  # above its verdicts, and above its table
    assert sum(line.startswith("b:") for line in lines) == 2


def test_a_variant_that_two_sweeps_have_is_compared_with_itself(tmp_path: Path) -> None:
    for name, factor in (("sim", 1.0), ("live", 2.0)):
        for number, variant in enumerate(("as is", "tuned", "BBR", "8 streams", "16 streams")):
            entry = {"transfer": records.bulk(10.0 * (number + 1) * factor)}
            synthetic.run(tmp_path / name, f"{number}", changes={"variant": variant, "workloads": entry})
    lines = compared(tmp_path / "sim", tmp_path / "live")
    rows = [" ".join(line.split()) for line in lines if line.startswith("live, ") and ":" not in line]
    for number, row in enumerate(rows, 1):
        assert f" {10 * number} {20 * number} 2 1" in row
    assert len(rows) == 5
    assert not any("…" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_things_tried_in_one_sweep_are_compared_by_their_speed_up(tmp_path: Path) -> None:
    for number, (variant, seconds) in enumerate({"as is": 12.0, "tuned": 4.0}.items()):
        changes = {"variant": variant, "point": {}, "workloads": {"page": records.http([seconds])}}
        synthetic.run(tmp_path, f"{number}", changes=changes)
    verdict, row = (line for line in compared(tmp_path) if line.startswith("tuned"))
    assert verdict.rstrip() == "tuned: 3 times faster (one pair: no interval)"
    assert row.split()[1:4] == ["12", "4", "3"]


def test_a_lab_of_pings_has_a_table_too(tmp_path: Path) -> None:
    ping = {"kind": "ping", "sent": 10, "lost": 1, "min_ms": 550.1, "median_ms": 550.3, "max_ms": 551.0}
    results = Results.open(synthetic.run(tmp_path, changes={"workloads": {"rtt": ping}}))
    assert "550.3" in printed(results, 80)


def test_the_page_needs_nothing_but_itself(sweep: Results, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    html.write(sweep, page)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    found = Page(page.read_text(encoding="utf-8"))
    assert found.fetched == []
    assert page.stat().st_size < 10_000_000


def test_every_link_of_the_page_leads_somewhere_on_it(sweep: Results) -> None:
    found = Page(html.render(sweep))
    runs = {f"#run={run['run']}" for run in sweep.runs}
    assert runs < set(found.links)
    assert set(found.links) - runs <= {f"#{name}" for name in found.ids}
    assert len(found.ids) == len(set(found.ids))


def unpacked(text: str) -> Any:
    """What the page's script makes of a packed text."""
    value, held = json.loads(zlib.decompress(b64decode(text)))

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


def test_a_run_has_a_chart_for_every_panel(geo: Results) -> None:
    (part,) = parts(html.render(geo))
    assert len(part["figures"]) == len(part["panels"]) == 7
    assert part["heading"] == "rtt 550 ms, direction down, as is, seed 1"


def test_every_run_has_a_row_and_a_part_in_the_same_place(sweep: Results) -> None:
    page = html.render(sweep)
    names = [run["run"] for run in sweep.runs]
    assert [part["name"] for part in parts(page)] == names
    assert re.findall(r'<th scope="row"><a href="#run=(\w+)">', page) == names


def test_what_is_packed_comes_out_again() -> None:
    value = [{"x": [1.5] * 9, "words": "w" * 99, "more": [[1, None], {"x": [1.5] * 9}]}, "w" * 99, []]
    assert unpacked(packing.pack(value)) == value


def test_what_runs_have_alike_costs_once() -> None:
    part = {"spec": "".join(chr(33 + n * n % 90) for n in range(9000)), "x": [n * 0.1 for n in range(900)]}
    one, sixteen = (len(packing.pack([part] * count)) for count in (1, 16))
    assert sixteen < 1.05 * one


def test_charts_over_time_are_thinned_until_the_page_has_its_size(sweep: Results) -> None:
    whole = html.render(sweep)
    charts_bytes = sum(map(len, re.findall(r'class="group">(.*?)</script>', whole)))
    thin = html.render(sweep, most_bytes=len(whole.encode()) - charts_bytes // 8)
    assert len(thin.encode()) <= len(whole.encode()) - charts_bytes // 8
    assert "below 10 MB" in thin
    assert "below 10 MB" not in whole
    assert [len(part["panels"]) for part in parts(thin)] == [len(part["panels"]) for part in parts(whole)]


def made_up_part(number: int, pixels: int) -> dict[str, Any]:
    """2000 samples of three curves, thinned for that many pixels, and settings as all runs have them."""
    count = min(4 * pixels, 2000)
    curves = [[(number * 7919 + curve * 31 + n * n) % 9973 for n in range(count)] for curve in range(3)]
    return {"name": f"{number}", "spec": '{"rate": 1}' * 400, "figures": [{"y": curve} for curve in curves]}


@pytest.mark.parametrize("count", [10, 100, 1000])
def test_runs_are_packed_at_the_finest_width_that_has_room(count: int) -> None:
    most_bytes = 600_000
    packed = packing.packed_runs(count, made_up_part, most_bytes)
    assert sum(map(len, packed.groups)) <= most_bytes
    assert sum(len(unpacked(group)) for group in packed.groups) == count
    assert packed.thinned == (count > 10)
    wider = packing.PIXELS[max(packing.PIXELS.index(packed.pixels) - 1, 0)]
    if packed.thinned:
        groups = [[made_up_part(n, wider) for n in range(at, at + 10)] for at in range(0, count, 10)]
        assert sum(len(packing.pack(group)) for group in groups) > 0.8 * most_bytes


def test_a_run_of_a_sweep_takes_a_few_kilobytes(tmp_path: Path) -> None:
    results = Results.open(synthetic.sweep(tmp_path, repeat=2, rtts_ms=(11, 30, 150)))
    groups = re.findall(r'class="group">(.*?)</script>', html.render(results))
    assert sum(map(len, groups)) / len(results.runs) < 5_000


def test_of_many_runs_only_the_charts_over_all_are_drawn_as_files(
    sweep: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "RUNS_DRAWN", 2)
    names = {path.stem for path in files.save_all(sweep, tmp_path, ["svg"])}
    assert names == {chart.name for chart in files.over_all(sweep)}


def test_a_page_without_room_for_charts_over_time_says_so(sweep: Results) -> None:
    page = html.render(sweep, most_bytes=0)
    assert "it has no charts over time" in page
    assert [part["name"] for part in parts(page)] == [run["run"] for run in sweep.runs]


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


def test_a_run_without_an_error_report_is_not_believed() -> None:
    assert "believe nothing" in " ".join(engine_words.sentences({"engine": "live"}))


def test_the_engines_words_name_what_was_lost_outside_the_model(geo: Results) -> None:
    record = geo.runs[0]
    assert "No packet was lost outside the model" in " ".join(engine_words.sentences(record))
    lossy = record | {"engine_error": record["engine_error"] | {"unintended_loss": 3}}
    assert "3 packets got lost outside the model" in " ".join(engine_words.sentences(lossy))
