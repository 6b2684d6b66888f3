"""Charts whose rows are things: variants beside the published, what helps and its costs, a page's objects."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import records
import synthetic

from bentpipe.analysis.kinds.costs import LEFT, is_rival
from bentpipe.charts import matplotlib, plotly
from bentpipe.charts.build import by_variant, speed_up, waterfall
from bentpipe.charts.description import Chart, Mark, Panel, Role
from bentpipe.report import html
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.schema import FLOWS
from bentpipe.runs.store import Results

NB = "\N{NO-BREAK SPACE}"


def stored(out: Path, made: list[records.Record], flows: list[dict[str, Any]] | None = None) -> Results:
    """These records as runs in a folder."""
    for number, record in enumerate(made):
        folder = RunFolder.create(out, f"{number:03d}")
        rows = [dict.fromkeys(FLOWS.names) | row for row in flows or []]
        folder.write_table("flows", pl.DataFrame(rows, schema=FLOWS.schema))
        folder.finish(record)
    return Results.open(out)


def drawn_both_ways(chart: Chart, folder: Path) -> None:
    """No renderer refuses it, and plotly has a figure for each row of panels."""
    matplotlib.save(chart, folder / "chart.png")
    assert len(plotly.figures(chart)) == len(chart.panels) / chart.columns


def by_role(panel: Panel, role: Role) -> dict[int, list[float]]:
    """Values by row of what has that role, one list per row."""
    found: dict[int, list[float]] = {}
    for series in panel.series:
        if series.role is role:
            for x, y in zip(series.x, series.y, strict=True):
                found.setdefault(int(y or 0), []).append(x)
    return found


def test_every_published_value_stands_on_the_row_of_what_it_is_compared_with(tmp_path: Path) -> None:
    runs = [records.high_latency_lab(), records.high_latency_lab({"sack": False}, variant="no SACK")]
    runs.append(records.high_latency_lab({"jitter": None}, variant="no jitter"))
    (chart,) = by_variant.build(stored(tmp_path, runs))
    (panel,) = chart.panels
    assert panel.y.categories == ("as is", "no SACK", "no jitter")
    published = by_role(panel, Role.PUBLISHED)
    assert sorted(published) == [0, 1]
    assert sorted(published[0]) == sorted([33.120, 29.028, 25.087, 34.724, 38.561])
    assert "as is: 30 s, within the published range" in panel.sentence
    assert "no SACK: 30 s, 0.29 times the published" in panel.sentence
    drawn_both_ways(chart, tmp_path)


def cured(variant: str, goodput: float, rival: float, seed: int, **more: float) -> records.Record:
    """With `again` segments sent again and pings of `ping_ms`."""
    path = {"base_rtt_ns": 100_000_000, "mtu": 1500, "down": {"shaper": {"kind": "unlimited"}}}
    works = [
        {"name": "cured", "kind": "bulk", "direction": "down"},
        {"name": "rival", "kind": "bulk", "direction": "down", "congestion_control": "cubic"},
        {"name": "others", "kind": "ping", "start_ns": 0},
    ]
    workloads = {
        "cured": records.bulk(goodput, bytes=1_448_000, retransmits=more["again"]),
        "rival": records.bulk(rival),
        "others": {"kind": "ping", "median_ms": more["ping_ms"], "sent": 10, "lost": 0},
    }
    spec = {"path": path, "workloads": works}
    return records.run(workloads, variant, seed, point={"path_kind": "GEO", "what": "both"}, spec=spec)


def test_a_cures_speed_up_stands_beside_what_it_costs_others(tmp_path: Path) -> None:
    runs = [cured("as is", 4.0, 4.0, seed, again=10, ping_ms=150.0) for seed in (1, 2)]
    runs += [cured("16 streams", 8.0 + seed, 1.0, seed, again=100, ping_ms=190.0) for seed in (1, 2)]
    chart = speed_up.build(stored(tmp_path, runs))
    assert chart is not None
    assert chart.columns == 4
    faster, again, delay, left = chart.panels
    assert faster.title == "GEO"
    assert faster.y.categories == ("both", "as is", "16 streams")
    assert faster.y.headings == {0}
    ratio = math.sqrt(9 / 4 * 10 / 4)
    assert by_role(faster, Role.DOWN) == {2: [pytest.approx(ratio)]}
    (low,), (high,) = faster.series[0].low or (), faster.series[0].high or ()
    assert 1.0 < low < 9 / 4 < 10 / 4 < high
    assert by_role(again, Role.DROPS) == {1: [pytest.approx(1.0)], 2: [pytest.approx(10.0)]}
    assert by_role(delay, Role.PING) == {1: [pytest.approx(50.0)], 2: [pytest.approx(90.0)]}
    assert by_role(left, Role.RIVAL) == {1: [pytest.approx(50.0)], 2: [pytest.approx(100 / 10.5, rel=0.01)]}
    assert faster.sentence == (
        'both: "16 streams" helps most, 2.37 times as fast (1.21 to 4.63); it sends 10 % of the payload '
        "again instead of 1 %, makes packets wait 90 ms in the queue instead of 50 ms and leaves another "
        "flow on the link 9.5 % of what both carry instead of 50 %."
    )
    drawn_both_ways(chart, tmp_path)


def test_an_interval_that_is_one_number_is_not_said_beside_that_number(tmp_path: Path) -> None:
    runs = [cured("as is", 4.0, 4.0, seed, again=10, ping_ms=150.0) for seed in (1, 2)]
    runs += [cured("16 streams", 8.0, 1.0, seed, again=100, ping_ms=190.0) for seed in (1, 2)]
    chart = speed_up.build(stored(tmp_path, runs))
    assert chart is not None
    assert chart.panels[0].sentence.startswith('both: "16 streams" helps most, 2 times as fast; it ')


@pytest.mark.parametrize(("second", "named"), [(7.9, True), (5.0, False)])
def test_the_second_best_is_named_where_chance_may_have_put_it_second(
    tmp_path: Path, second: float, named: bool
) -> None:
    rates = {"as is": 4.0, "split": 8.0, "BBR": second}
    runs = [
        records.run({"file": records.bulk(rate * (1 + 0.02 * (seed % 3) * (name == "split")))}, name, seed)
        for name, rate in rates.items()
        for seed in (1, 2, 3)
    ]
    chart = speed_up.build(stored(tmp_path, runs))
    assert chart is not None
    sentence = chart.panels[0].sentence
    assert sentence.startswith('"split" helps most, 2.04 times as fast (')
    assert sentence.endswith('. "BBR" may help as much, 1.98 times.') == named
    assert ("BBR" in sentence) == named


def test_a_cost_too_small_to_matter_is_left_to_the_chart(tmp_path: Path) -> None:
    runs = [cured("as is", 4.0, 4.0, seed, again=10, ping_ms=150.0) for seed in (1, 2)]
    runs += [cured("BBR", 8.0, 1.0, seed, again=19, ping_ms=159.0) for seed in (1, 2)]
    chart = speed_up.build(stored(tmp_path, runs))
    assert chart is not None
    assert chart.panels[0].sentence == (
        'both: "BBR" helps most, 2 times as fast; it leaves another flow on the link 11 % of what both carry '
        "instead of 50 %."
    )


def test_a_page_of_cures_on_one_path_begins_with_a_sentence_of_its_own(tmp_path: Path) -> None:
    runs = [records.run({"download": records.bulk(1.0)}), records.run({"download": records.bulk(2.0)}, "BBR")]
    page = html.render(stored(tmp_path, runs))
    words = f"2{NB}times as fast in one pair of runs (it may be chance: use --repeat)."
    assert f'<p class="told">&#34;BBR&#34; is fastest, {words}</p>' in page
    assert page.index("What helps most, and what it costs") < page.index("What changed")
    assert '<details class="plain"><summary><h2>What changed</h2></summary>' in page


def test_sentences_of_several_works_each_end_with_a_point(tmp_path: Path) -> None:
    def works(variant: str, goodput: float) -> records.Record:
        both = {"file": records.bulk(goodput), "upload": records.bulk(4.0)}
        return records.run(both, variant, point={"path_kind": "GEO"})

    chart = speed_up.build(stored(tmp_path, [works("as is", 1.0), works("BBR", 2.0)]))
    assert chart is not None
    assert chart.panels[0].sentence == (
        'file: "BBR" is fastest, 2 times as fast in one pair of runs (it may be chance: use --repeat). '
        "upload: nothing is faster."
    )


def test_a_chart_of_several_works_leaves_their_costs_to_its_panels_and_the_page_says_them(
    tmp_path: Path,
) -> None:
    def works(variant: str, goodput: float, again: int) -> records.Record:
        both = {
            name: records.bulk(goodput, bytes=1_448_000, retransmits=again) for name in ("file", "upload")
        }
        spec = {"path": {"mtu": 1500}}
        return records.run(both, variant, point={"path_kind": "GEO"}, spec=spec)

    found = stored(tmp_path, [works("as is", 1.0, 10), works("BBR", 2.0, 100)])
    chart = speed_up.build(found)
    assert chart is not None
    (panel, *_) = chart.panels
    cost = "it sends 10 % of the payload again instead of 1 %."
    assert cost not in panel.sentence
    assert [each.partition(":")[0] for each in panel.answers] == ["file", "upload"]
    assert all(each.endswith(cost) for each in panel.answers)
    page = html.render(found)
    answers = page[page.index("What helps most, and") :].partition("</section>")[0]
    assert answers.count("<dt>") == 1
    assert answers.count("<dd>") == 2
    assert answers.count(f"10{NB}% of the payload again") == 2


def test_two_workloads_of_one_point_have_headings_of_their_own(tmp_path: Path) -> None:
    def beside(variant: str, goodput: float, seed: int) -> records.Record:
        works = {"download": records.bulk(goodput), "other": records.bulk(4.0)}
        return records.run(works, variant, seed, point={"path_kind": "GEO", "beside": "a rival"})

    runs = [beside("as is", 4.0, seed) for seed in (1, 2)] + [beside("SEARCH", 5.0, seed) for seed in (1, 2)]
    chart = speed_up.build(stored(tmp_path, runs))
    assert chart is not None
    y = chart.panels[0].y
    assert [y.categories[row] for row in sorted(y.headings)] == ["a rival, download", "a rival, other"]


def test_a_rival_is_no_thing_that_was_tried(tmp_path: Path) -> None:
    runs = [
        cured("as is", 4.0, 4.0, 1, again=1, ping_ms=150),
        cured("BBR", 6.0, 2.0, 1, again=1, ping_ms=150),
    ]
    chart = speed_up.build(stored(tmp_path, runs))
    assert chart is not None
    assert all("rival" not in name for panel in chart.panels for name in panel.y.categories)


def test_a_sweep_of_numbers_is_no_list_of_cures(sweep: Results) -> None:
    assert speed_up.build(sweep) is None
    assert by_variant.build(sweep) == []


def test_a_hit_and_a_miss_are_two_rows(tmp_path: Path) -> None:
    cached = records.http([10.0, 1.0])
    for fetch, outcome in zip(cached["per_fetch"], ("miss", "hit"), strict=True):
        fetch["cache"] = outcome
    runs = [records.run({"file": records.http([8.0])}), records.run({"file": cached}, "cached")]
    chart = speed_up.build(stored(tmp_path, runs))
    assert chart is not None
    assert chart.panels[0].y.categories == ("as is", "cached, miss", "cached, hit")
    assert by_role(chart.panels[0], Role.DOWN) == {1: [pytest.approx(0.8)], 2: [pytest.approx(8.0)]}


def test_what_is_far_faster_stands_at_the_axis_end_with_its_figure(tmp_path: Path) -> None:
    times = {"as is": 10.0, "tuned": 5.0, "cached": 0.02}
    runs = [records.run({"file": records.http([time_s])}, name) for name, time_s in times.items()]
    chart = speed_up.build(stored(tmp_path, runs))
    assert chart is not None
    panel = chart.panels[0]
    assert panel.y.categories == ("as is", "tuned", "cached, 500 times")
    assert by_role(panel, Role.DOWN) == {1: [2.0], 2: [30.0]}
    assert panel.sentence == (
        '"cached" is 500 times as fast, and of the others "tuned" is fastest, 2 times as fast in one pair of '
        "runs (it may be chance: use --repeat)."
    )
    drawn_both_ways(chart, tmp_path)


def page(out: Path) -> Results:
    """Two objects over one kept connection."""
    flow = {"workload": "page", "direction": "down", "local_port": 40000, "remote_port": 80, "bytes": 5000}
    flows = [
        flow | {"flow": 1, "start_s": 1.0, "connected_s": 1.5, "first_byte_s": 2.0, "end_s": 2.5},
        flow | {"flow": 2, "start_s": 2.5, "connected_s": None, "first_byte_s": 3.0, "end_s": 3.25},
    ]
    entry = records.http([2.25]) | {"per_fetch": [{"start_s": 1.0, "total_s": 2.25}]}
    spec = {"path": {}, "workloads": [{"name": "page", "kind": "http", "objects_bytes": [5000, 5000]}]}
    return stored(out, [records.run({"page": entry}, spec=spec)], flows)


def test_each_object_of_a_page_connects_waits_and_receives(tmp_path: Path) -> None:
    results = page(tmp_path)
    chart = waterfall.build(results, results.records[0])
    assert chart is not None
    (panel,) = chart.panels
    assert panel.y.categories == (f"5{NB}kB, connection 1", f"5{NB}kB, connection 1")
    spans = {s.label: list(zip(s.y, s.low or (), s.high or (), strict=True)) for s in panel.series}
    assert spans == {
        "connect": [(0, 0.0, 0.5)],
        "wait": [(0, 0.5, 1.0), (1, 1.5, 2.0)],
        "receive": [(0, 1.0, 1.5), (1, 2.0, 2.25)],
    }
    assert all(series.mark is Mark.SPANS for series in panel.series)
    assert f"2 objects over 1 connection, the last byte after 2.25{NB}s" in panel.sentence
    drawn_both_ways(chart, tmp_path)


def test_a_single_file_has_no_waterfall(tmp_path: Path) -> None:
    results = Results.open(synthetic.run(tmp_path))
    assert waterfall.build(results, results.records[0]) is None


def test_a_lone_transfer_with_a_congestion_control_of_its_own_is_no_rival() -> None:
    spec = {
        "workloads": [{"name": "rival", "kind": "bulk", "direction": "down", "congestion_control": "bbr"}]
    }
    record = records.run({"rival": records.bulk(5.0)}, spec=spec)
    assert not is_rival(record, "rival")


def test_a_page_beside_a_rival_has_no_share_of_what_transfers_carried() -> None:
    works = [
        {"name": "rival", "kind": "bulk", "direction": "down", "congestion_control": "cubic"},
        {"name": "page", "kind": "http", "direction": "down"},
    ]
    record = records.run({"rival": records.bulk(5.0), "page": records.http([2.0])}, spec={"workloads": works})
    assert is_rival(record, "rival")
    assert LEFT.values(record, "page") == []


def test_without_a_figure_of_what_was_tried_there_is_no_chart_of_it(tmp_path: Path) -> None:
    for number, variant in enumerate(("as is", "tuned")):
        record = records.run({"page": records.http([2.0])}, variant=variant, reliable=variant == "as is")
        synthetic.run(tmp_path, f"{number}", changes=record)
    assert speed_up.build(Results.open(tmp_path)) is None


def test_a_mark_names_the_runs_that_it_stands_for(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        for variant, seconds in (("as is", 12.0), ("tuned", 4.0 + seed)):
            record = records.run({"page": records.http([seconds])}, variant=variant, seed=seed)
            synthetic.run(tmp_path, f"{variant} {seed}", changes=record)
    chart = speed_up.build(Results.open(tmp_path))
    assert chart is not None
    (figure,) = plotly.figures(chart)
    marks = [trace["customdata"] for trace in figure["data"] if trace.get("customdata")]
    assert [["tuned 2", "tuned 1", "tuned 3"]] in marks
