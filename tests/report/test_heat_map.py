"""Heat maps: two things that vary, a figure for each pair, and the best compromise between three of them."""

from pathlib import Path

import polars as pl
import pytest
import records

from bentpipe.charts import files, matplotlib, plotly
from bentpipe.charts.build import heat_map
from bentpipe.charts.description import Cells, Chart
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.schema import FLOWS
from bentpipe.runs.store import Results

RTTS = ("30 ms", "150 ms", "550 ms")
LOSSES = ("0 %", "1 %")


def stored(out: Path, made: list[records.Record]) -> Results:
    """These records as runs in a folder."""
    for number, record in enumerate(made):
        folder = RunFolder.create(out, f"{number:03d}")
        folder.write_table("flows", pl.DataFrame(schema=FLOWS.schema))
        folder.finish(record)
    return Results.open(out)


def lossy(rtt: int, loss: int, **more: object) -> records.Record:
    """A transfer that carries less the farther and the lossier; both are numbers of their values."""
    point = {"path.rtt": RTTS[rtt], "path.loss": LOSSES[loss]}
    return records.run({"transfer": records.bulk(100.0 / (1 + 2 * rtt + 4 * loss))}, point=point, **more)


def queued(
    queue: str, channels: int, time_s: float | None, p95_s: float, delay_s: float, **more: object
) -> records.Record:
    """A 40 MB download beside channels, in 600 s at a round trip of 500 ms."""
    works = [
        {"name": "clients", "kind": "channels"},
        {
            "name": "download",
            "kind": "bulk",
            "direction": "down",
            "size_bytes": 40_000_000,
            "start_ns": 10**10,
        },
    ]
    workloads = {
        "clients": {"kind": "channels", "goodput_mbit_s": 3.0, "flows": 9, "small_flows": {"p95_s": p95_s}},
        "download": records.bulk(4.0, completion_s=time_s),
    }
    spec = {"path": {"base_rtt_ns": 500_000_000}, "workloads": works, "duration_s": 600.0}
    point = {"workload.clients.channels": channels, "queue": queue}
    return records.run(workloads, point=point, spec=spec, queue={"down": {"delay_s_mean": delay_s}}, **more)


QUEUES = {
    "short": (160.0, 2.0, 0.0),
    "middle": (80.0, 2.0, 0.125),
    "long": (40.0, 4.0, 0.5),
}


def queues(**more: object) -> list[records.Record]:
    return [queued(name, channels, *QUEUES[name], **more) for channels in (20, 50) for name in QUEUES]


def cells(chart: Chart) -> list[Cells]:
    return [panel.cells for panel in chart.panels if panel.cells]


def built(results: Results) -> Chart:
    return next(iter(heat_map.build(results).values()))


def drawn_both_ways(chart: Chart, folder: Path) -> None:
    """No renderer refuses it, and plotly has a figure for each row of panels."""
    matplotlib.save(chart, folder / "chart.png")
    assert len(plotly.figures(chart)) == len(chart.panels) / chart.columns


def test_a_sweep_of_two_keys_has_a_cell_for_each_pair(tmp_path: Path) -> None:
    chart = built(stored(tmp_path, [lossy(rtt, loss) for rtt in range(3) for loss in range(2)]))
    (panel,), (found,) = chart.panels, cells(chart)
    assert panel.y.categories == RTTS
    assert panel.x
    assert panel.x.categories == LOSSES
    assert found.words == (("100", "20"), ("33.3", "14.3"), ("20", "11.1"))
    assert found.best == {(0, 0)}
    assert found.shades[0][0] == 0
    assert found.shades[2][1] == 1
    assert "11.1 Mbit/s at rtt 550 ms and loss 1 % to 100 Mbit/s at rtt 30 ms and loss 0 %" in panel.sentence
    drawn_both_ways(chart, tmp_path)


def test_variants_over_one_key_have_a_heat_map_too(tmp_path: Path) -> None:
    runs = [lossy(rtt, 0, variant=variant) for rtt in range(3) for variant in ("as is", "BBR")]
    chart = built(stored(tmp_path, runs))
    assert chart.x.categories == ("as is", "BBR")


@pytest.mark.parametrize(
    "places",
    [
        [(rtt, 0) for rtt in range(3)],
        [(rtt, loss) for rtt in range(2) for loss in range(2)],
    ],
    ids=["one thing varies", "two by two"],
)
def test_less_than_two_by_three_has_none(tmp_path: Path, places: list[tuple[int, int]]) -> None:
    assert heat_map.build(stored(tmp_path, [lossy(*place) for place in places])) == {}


def test_a_third_thing_has_a_map_for_each_of_its_values_with_the_same_shades(tmp_path: Path) -> None:
    runs = [
        lossy(rtt, loss, variant=variant)
        for rtt in range(3)
        for loss in range(2)
        for variant in ("as is", "BBR", "Hybla")
    ]
    runs[0]["workloads"]["transfer"]["goodput_mbit_s"] = 1000.0
    chart = built(stored(tmp_path, runs))
    assert (chart.panels[0].y.label, chart.x.label) == ("rtt", "variant")
    assert [panel.title for panel in chart.panels] == ["loss 0 %", "loss 1 %"]
    first, second = cells(chart)
    assert first.best == {(0, 0)}
    assert second.best == frozenset()
    assert min(shade for row in second.shades for shade in row if shade is not None) > 0.3
    assert "to 1 000 Mbit/s at rtt 30 ms and variant as is (loss 0 %)" in chart.panels[0].sentence.replace(
        "\N{NARROW NO-BREAK SPACE}", " "
    )
    drawn_both_ways(chart, tmp_path)


def test_kinds_of_thing_are_no_plane(tmp_path: Path) -> None:
    runs = [
        records.run(
            {"transfer": records.bulk(n + 1.0)}, point={"path_kind": kind, "what": what}, variant=variant
        )
        for n, kind in enumerate(("GEO", "MEO", "LEO"))
        for what in ("file", "page")
        for variant in ("as is", "BBR")
    ]
    assert heat_map.build(stored(tmp_path, runs)) == {}


def test_there_is_a_map_of_each_figure_that_varies(tmp_path: Path) -> None:
    runs = [lossy(rtt, loss) for rtt in range(3) for loss in range(2)]
    for number, run in enumerate(runs):
        run["workloads"]["transfer"]["retransmits"] = number
    titles = list(heat_map.build(stored(tmp_path, runs)))
    assert titles == ["transfer, goodput (Mbit/s)", "transfer, retr. (segm.)"]


def test_a_cell_names_its_runs_the_most_typical_first(tmp_path: Path) -> None:
    runs = [lossy(rtt, loss, seed=seed) for rtt in range(3) for loss in range(2) for seed in range(3)]
    runs[2]["workloads"]["transfer"]["goodput_mbit_s"] = 101.0
    runs[1]["workloads"]["transfer"]["goodput_mbit_s"] = 104.0
    (found,) = cells(built(stored(tmp_path, runs)))
    assert found.runs[0][0] == ("002", "000", "001")
    (figure,) = plotly.figures(built(Results.open(tmp_path)))
    assert figure["data"][0]["customdata"][0][0] == ["002", "000", "001"]


def test_the_compromise_is_the_geometric_mean_of_the_ratios_to_the_best_of_the_column(tmp_path: Path) -> None:
    chart = built(stored(tmp_path, queues()))
    times, p95s, delays, ratios = cells(chart)
    assert [words[0] for words in times.words] == ["160", "80", "40"]
    assert [words[0] for words in p95s.words] == ["2", "2", "4"]
    assert [words[0] for words in delays.words] == ["0", "125", "500"]
    # Cube roots of 4 x 1 x 1, 2 x 1 x 1.25 and 1 x 2 x 2: the delay counts as a part of the round trip.
    assert [words[0] for words in ratios.words] == ["1.59", "1.36", "1.59"]
    assert ratios.words[1] == ("1.36", "1.36", "1.36")
    assert chart.panels[3].x
    assert chart.panels[3].x.categories == ("20", "50", "all")
    assert ratios.best == {(1, 0), (1, 1), (1, 2)}
    assert "over all middle (1.36)" in chart.panels[0].sentence
    drawn_both_ways(chart, tmp_path)


def test_a_download_that_was_not_done_counts_as_the_time_that_it_had_and_is_never_the_best(
    tmp_path: Path,
) -> None:
    runs = [queued(name, channels, None, *QUEUES[name][1:]) for channels in (20, 50) for name in QUEUES]
    times, *_, ratios = cells(built(stored(tmp_path, runs)))
    assert times.words[0] == ("> 590", "> 590")
    assert times.best == ratios.best == frozenset()


def test_unreliable_runs_stand_in_brackets_without_a_colour_or_a_part_in_the_compromise(
    tmp_path: Path,
) -> None:
    runs = queues()
    runs[2]["reliable"] = False
    chart = built(stored(tmp_path, runs))
    times, *_, ratios = cells(chart)
    (figure,) = plotly.figures(chart)
    assert ["(40)"] in [trace.get("text") for trace in figure["data"]]
    assert times.words[2] == ("(40)", "40")
    assert times.shades[2][0] is None
    assert times.best == {(1, 0), (2, 1)}
    assert ratios.words[2] == ("", "1.59", "")


def test_the_heat_map_is_among_the_charts_of_a_folder(tmp_path: Path) -> None:
    assert "heat-map" in [chart.name for chart in files.over_all(stored(tmp_path, queues()))]


def test_a_cells_words_are_escaped_on_the_page(tmp_path: Path) -> None:
    runs = [queued(f"<b>{name}</b>", channels, *QUEUES[name]) for channels in (20, 50) for name in QUEUES]
    (figure,) = plotly.figures(built(stored(tmp_path, runs)))
    assert figure["layout"]["yaxis"]["ticktext"][0] == "&lt;b&gt;short&lt;/b&gt;"
