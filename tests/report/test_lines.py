"""Lines with bands: a point is the median of its seeds, a band their interval, and 0 is said to be 0."""

import math
from pathlib import Path

import pytest
import records
from test_heat_map import stored

from bentpipe.analysis.swept import swept_axes
from bentpipe.charts import matplotlib, plotly
from bentpipe.charts.build import lines
from bentpipe.charts.build.lines import LinesOver
from bentpipe.charts.description import Chart, Series


def carried(rtt: int, loss: float, seed: int) -> float:
    return (10 + seed) / (rtt * (1 + 100 * loss))


def lossy(rtt: int, loss: float, seed: int, **more: object) -> records.Record:
    point = {"path.rtt": f"{rtt} ms", "path.loss": loss}
    return records.run({"download": records.bulk(carried(rtt, loss, seed))}, seed=seed, point=point, **more)


def swept(folder: Path) -> dict[str, LinesOver]:
    runs = [
        lossy(rtt, loss, seed) for rtt in (5, 50, 500) for loss in (0.0, 0.01, 0.2) for seed in range(1, 8)
    ]
    return {over.name: over for over in lines.build(stored(folder, runs))}


def goodput(over: LinesOver) -> Chart:
    return over.charts["download, goodput (Mbit/s)"]


def by_label(chart: Chart) -> dict[str, Series]:
    return {series.label: series for series in chart.panels[0].series if series.in_legend}


def test_a_point_is_the_median_of_its_seeds_and_the_band_their_interval(tmp_path: Path) -> None:
    chart = goodput(swept(tmp_path)["rtt"])
    line = by_label(chart)["loss 0.01"]
    assert list(line.x) == [5, 50, 500]
    assert line.y == [carried(rtt, 0.01, 4) for rtt in (5, 50, 500)]
    assert line.low == [carried(rtt, 0.01, 1) for rtt in (5, 50, 500)]
    assert line.high == [carried(rtt, 0.01, 7) for rtt in (5, 50, 500)]
    assert line.band
    assert "medians of 7 runs" in chart.sentence
    assert "98 %" in chart.sentence


def test_what_spans_more_than_a_decade_is_on_a_logarithmic_axis(tmp_path: Path) -> None:
    chart = goodput(swept(tmp_path)["rtt"])
    assert (chart.x.log, chart.panels[0].y.log) == (True, True)
    near = lines.build(
        stored(tmp_path / "near", [lossy(rtt, 0.0, seed) for rtt in (5, 6, 7) for seed in (1, 2)])
    )
    assert (goodput(near[0]).x.log, goodput(near[0]).panels[0].y.log) == (False, False)


def test_zero_stands_beyond_a_break_of_a_logarithmic_axis_and_is_not_joined(tmp_path: Path) -> None:
    chart = goodput(swept(tmp_path)["loss"])
    joined, beyond = [series for series in chart.panels[0].series if series.label == "rtt 5 ms"]
    assert list(joined.x) == [0.01, 0.2]
    assert list(beyond.x) == [0.0]
    assert chart.x.zero is not None
    assert 0 < chart.x.zero < 0.01
    assert "what is 0 stands beyond the dotted break" in chart.sentence
    (figure,) = plotly.figures(chart)
    axis = figure["layout"]["xaxis"]
    assert axis["ticktext"][0] == "0"
    assert axis["tickvals"][0] == pytest.approx(chart.x.zero, rel=1e-3)
    assert axis["range"][0] < math.log10(chart.x.zero)
    matplotlib.save(chart, tmp_path / "chart.png")


def test_an_interval_that_reaches_0_ends_at_the_place_of_0(tmp_path: Path) -> None:
    runs = [lossy(rtt, 0.0, seed) for rtt in (5, 50, 500) for seed in (1, 2, 3)]
    for run, again in zip(runs, (0, 2, 3, 20, 20, 20, 900, 900, 900), strict=True):
        run["workloads"]["download"]["retransmits"] = again
    chart = lines.build(stored(tmp_path, runs))[0].charts["download, retr. (segm.)"]
    zero = chart.panels[0].y.zero
    assert zero is not None
    assert 0 < zero < 2
    (figure,) = plotly.figures(chart)
    assert min(figure["data"][0]["y"]) == pytest.approx(zero)
    assert figure["layout"]["yaxis"]["ticktext"][0] == "0"
    matplotlib.save(chart, tmp_path / "chart.png")


def test_a_point_knows_its_runs_the_most_typical_first(tmp_path: Path) -> None:
    runs = [lossy(rtt, 0.0, seed) for rtt in (5, 6, 7) for seed in range(1, 6)]
    runs[1]["reliable"] = False
    (over,) = lines.build(stored(tmp_path, runs))
    (line,) = by_label(goodput(over)).values()
    assert line.runs[0][-1] == "001"  # that does not count; and of 1, 3, 4 and 5 the middle is 3.5
    assert set(line.runs[0][:2]) == {"002", "003"}
    (figure,) = plotly.figures(goodput(over))
    assert ["010", "011", "012", "013", "014"] in [sorted(runs) for runs in figure["data"][-1]["customdata"]]


def test_what_was_not_done_in_half_of_its_runs_has_no_point_and_the_chart_says_so(tmp_path: Path) -> None:
    spec = {"workloads": [{"name": "download", "kind": "bulk", "size_bytes": 10**6}]}
    times: dict[int, tuple[float | None, ...]] = {
        5: (1.0, 2.0, 3.0),
        6: (2.0, 3.0, None),
        7: (3.0, None, None),
    }
    runs = [
        records.run(
            {"download": records.bulk(1.0, completion_s=time_s)},
            seed=seed,
            point={"path.rtt": f"{rtt} ms"},
            spec=spec,
        )
        for rtt, of in times.items()
        for seed, time_s in enumerate(of)
    ]
    chart = lines.build(stored(tmp_path, runs))[0].charts["download, time (s)"]
    (line,) = by_label(chart).values()
    assert list(line.x) == [5, 6]
    assert line.high == [3.0, 3.0]
    assert "1 interval has no upper end" in chart.sentence
    assert "1 point is left out" in chart.sentence


def test_cells_without_a_reliable_run_are_hollow_and_not_joined(tmp_path: Path) -> None:
    runs = [lossy(rtt, 0.0, 1) for rtt in (5, 6, 7, 8)]
    runs[2]["reliable"] = False
    (over,) = lines.build(stored(tmp_path, runs))
    joined, doubtful = goodput(over).panels[0].series
    assert list(joined.x) == [5, 6, 8]
    assert (list(doubtful.x), doubtful.hollow) == ([7], True)


def test_a_third_axis_has_small_panels_with_the_same_axes(tmp_path: Path) -> None:
    runs = [
        lossy(rtt, loss, 1, variant=variant)
        for rtt in (5, 50, 500)
        for loss in (0.0, 0.01, 0.1)
        for variant in ("as is", "BBR", "Hybla")
    ]
    chart = goodput(lines.build(stored(tmp_path, runs))[0])
    assert chart.small_multiples
    assert [panel.title for panel in chart.panels] == ["loss 0.0", "loss 0.01", "loss 0.1"]
    ranges = [figure["layout"]["yaxis"]["range"] for figure in plotly.figures(chart)]
    assert ranges[0] == ranges[1] == ranges[2]
    assert [label for label, *_ in plotly.keys(chart)] == ["as is", "BBR", "Hybla"]
    matplotlib.save(chart, tmp_path / "chart.png")


def test_of_many_values_some_are_drawn_and_the_chart_says_so(tmp_path: Path) -> None:
    runs = [lossy(rtt, loss / 100, 1) for rtt in range(1, 11) for loss in range(1, 10)]
    chart = goodput(lines.build(stored(tmp_path, runs))[0])
    assert len(by_label(chart)) == 6
    assert "Of loss, 6 of 9 values are drawn." in chart.sentence


def test_nothing_is_drawn_over_names(tmp_path: Path) -> None:
    point = [{"path_kind": name} for name in ("GEO", "LEO", "MEO")]
    runs = [records.run({"download": records.bulk(n + 1.0)}, point=at) for n, at in enumerate(point)]
    assert lines.build(stored(tmp_path, runs)) == []


def test_words_among_swept_numbers_leave_the_line_of_the_numbers(tmp_path: Path) -> None:
    swept = [0, 0.05, 0.1, "adaptive", "titrated"]
    runs = [
        records.run({"download": records.bulk(n + 1.0)}, seed=seed, point={"tunnel.redundancy": each})
        for n, each in enumerate(swept)
        for seed in (1, 2)
    ]
    (over,) = lines.build(stored(tmp_path, runs))
    chart = goodput(over)
    assert [(list(series.x), series.y) for series in chart.panels[0].series if series.x] == [
        ([0, 0.05, 0.1], [1, 2, 3])
    ]
    assert "Not drawn: redundancy adaptive and titrated, because they are not numbers." in chart.sentence


@pytest.mark.parametrize(
    ("values", "numbers", "unit"),
    [
        (["30 ms", "1 s", "5 ms"], (5.0, 30.0, 1000.0), "ms"),
        (["1 MB", "30 kB", "100 kB"], (30.0, 100.0, 1000.0), "kB"),
        (["8 Mbit/s", "1 Gbit/s", "16 Mbit/s"], (8.0, 16.0, 1000.0), "Mbit/s"),
        (["2 bdp", "1 bdp"], (1.0, 2.0), "bdp"),
        ([50, 20], (20.0, 50.0), ""),
        (["30 kB", "60 ms"], None, ""),
        (["30 kB", "CoDel, 1 MB"], None, ""),
        ([True, False], None, ""),
        (["30 kB", {"limit": "30 kB"}], None, ""),
    ],
)
def test_swept_values_are_numbers_where_all_have_units_of_one_kind(
    values: list[object], numbers: tuple[float, ...] | None, unit: str
) -> None:
    (axis,) = swept_axes({"path.x": str(value) if isinstance(value, dict) else value} for value in values)
    assert (axis.numbers, axis.unit) == (numbers, unit)
