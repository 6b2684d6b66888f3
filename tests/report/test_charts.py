"""Charts say with figures what they show, and lose no peak."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import synthetic
from hypothesis import given, settings
from hypothesis import strategies as st

from bentpipe.charts import files, matplotlib, plotly
from bentpipe.charts.build import lateness, over_time, throughput_rtt, windows
from bentpipe.charts.build.socket_samples import Socket
from bentpipe.charts.description import Axis, Chart, Panel, Role, Series
from bentpipe.charts.palette import DARK, LIGHT
from bentpipe.charts.plotly.decimate import envelope, indices
from bentpipe.charts.plotly.values import short, shorts
from bentpipe.runs.schema import SOCKETS
from bentpipe.runs.store import Results
from bentpipe.words import wording

NB = "\N{NO-BREAK SPACE}"


def panels(chart: Chart | None) -> dict[str, Panel]:
    assert chart is not None
    return {panel.name: panel for panel in chart.panels}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9_812_345_678, "9.81 Gbit/s"),
        (31e6, "31 Mbit/s"),
        (999_600, "1 Mbit/s"),
        (0, "0 bit/s"),
        (1234, "1.23 kbit/s"),
    ],
)
def test_a_rate_is_three_digits_in_the_unit_that_fits(value: float, text: str) -> None:
    assert wording.rate(value).replace(NB, " ") == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0006, "0.6 ms"), (0.55, "550 ms"), (31, "31 s"), (8e-6, "8 µs"), (0, "0 s"), (-3, "-3 s")],
)
def test_a_time_is_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert wording.duration(seconds).replace(NB, " ") == text


def test_the_finding_is_computed_from_the_reliable_cells(sweep: Results) -> None:
    chart = throughput_rtt.build(sweep, log=True)
    assert chart is not None
    text = chart.sentence.replace(NB, " ")
    assert "From 11 ms to 550 ms" in text
    assert "the path's rate is the same" in text
    assert "4 cells (hollow) had unreliable runs only" in text


def test_each_direction_is_said_over_the_round_trips_that_it_has(tmp_path: Path) -> None:
    cells = [(30, "down"), (550, "down"), (11, "up"), (550, "up")]
    for number, (rtt_ms, direction) in enumerate(cells):
        synthetic.run(tmp_path, f"{number}", rtt_ms=rtt_ms, direction=direction)
    chart = throughput_rtt.build(Results.open(tmp_path), log=True)
    assert chart is not None
    down, up = chart.sentence.replace(NB, " ").split(". From ")
    assert down.startswith("From 30 ms to 550 ms of round trip, goodput goes from ")
    assert down.endswith("times less")
    assert " down, " in down
    assert up.startswith("11 ms to 550 ms of round trip, goodput goes from ")
    assert " up, " in up


def test_published_and_ours_are_told_apart(sweep: Results) -> None:
    down = panels(throughput_rtt.build(sweep, log=True))["down"]
    by_label = {series.label: series for series in down.series}
    published = by_label["published"]
    assert list(published.y) == [2320, 239, 84.9, 32.2, 11.0]
    assert {published.role, by_label["as is"].role} == {Role.PUBLISHED, Role.DOWN}
    assert by_label["as is"].symbol != by_label["2015 buffers"].symbol


def test_without_a_reliable_run_nothing_is_concluded(tmp_path: Path) -> None:
    for name, rtt_ms in (("1", 11), ("2", 150)):
        synthetic.run(tmp_path, name, rtt_ms=rtt_ms, changes={"reliable": False})
    chart = throughput_rtt.build(Results.open(tmp_path), log=True)
    assert chart is not None
    assert chart.sentence.startswith("No cell has a reliable run")
    assert all(series.hollow for series in panels(chart)["down"].series if series.role is Role.DOWN)


def test_what_else_was_swept_is_a_line_of_its_own(tmp_path: Path) -> None:
    for number, (rtt_ms, loss) in enumerate((r, p) for r in (11, 150) for p in (0.0, 0.01)):
        point = {"path.rtt": f"{rtt_ms} ms", "path.loss": loss}
        synthetic.run(tmp_path, f"{number}", rtt_ms=rtt_ms, changes={"point": point})
    down = panels(throughput_rtt.build(Results.open(tmp_path), log=True))["down"]
    ours = {series.label: list(series.x) for series in down.series if series.role is Role.DOWN}
    assert ours == {"as is, loss 0.0": [11, 150], "as is, loss 0.01": [11, 150]}


def test_unreliable_cells_are_hollow_and_not_joined(sweep: Results) -> None:
    down = panels(throughput_rtt.build(sweep, log=False))["down"]
    hollow = [series for series in down.series if series.hollow]
    assert [list(series.x) for series in hollow] == [[0.6], [0.6]]
    assert all(0.6 not in series.x for series in down.series if series.label == "as is")


def test_one_round_trip_makes_no_dependence(geo: Results) -> None:
    assert throughput_rtt.build(geo, log=True) is None


def test_a_run_is_drawn_on_one_clock_with_what_limits_it(geo: Results) -> None:
    found = panels(over_time.build(geo, geo.records[0]))
    assert list(found) == ["rate", "queue", "drops", "windows-down", "cwnd", "rtt"]
    assert [level.value for level in found["rate"].levels] == [16.0]
    assert [level.value for level in found["queue"].levels] == [100.0]
    dropped = round(sum(y or 0 for series in found["drops"].series for y in series.y))
    assert dropped == geo.link["drops_tail"].sum()
    assert f"dropped {dropped} packets down by tail drop" in found["drops"].sentence
    assert "CUBIC's window down peaks" in found["cwnd"].sentence
    assert "of 10, none got lost" in found["rtt"].sentence


def test_the_tools_own_seconds_count_from_its_first_payload(geo: Results) -> None:
    rate = panels(over_time.build(geo, geo.records[0]))["rate"]
    per_second = next(series for series in rate.series if "iperf3" in series.label)
    first_sent = geo.sockets.filter((geo.sockets["host"] == "server") & (geo.sockets["bytes_sent"] > 0))
    assert per_second.x[0] == first_sent["time_s"][0] + 1.0
    assert len(per_second.x) == len(per_second.y) == 31


def test_the_tools_own_seconds_end_with_the_run(geo: Results) -> None:
    seconds = geo.records[0]["workloads"]["transfer"]["per_second_mbit_s"]
    seconds += [1.0, 1.0, 1.0]  # of which only a part lies within the run
    rate = panels(over_time.build(geo, geo.records[0]))["rate"]
    by_tool = next(series for series in rate.series if "iperf3" in series.label)
    by_bin = next(series for series in rate.series if series.label.startswith("goodput"))
    assert by_tool.x[-1] == pytest.approx(by_bin.x[-1] + 0.1)
    assert len(by_tool.x) == len(by_tool.y) < len(seconds) + 1


def test_a_panel_without_anything_to_draw_is_left_out(tmp_path: Path) -> None:
    results = Results.open(synthetic.run(tmp_path, rtt_ms=150))
    found = panels(over_time.build(results, results.records[0]))
    assert "queue" not in found
    assert "drops" not in found


def test_a_control_connection_is_not_taken_for_a_transfer(geo: Results) -> None:
    cwnd = panels(over_time.build(geo, geo.records[0]))["cwnd"]
    assert {series.role for series in cwnd.series} == {Role.DOWN}


def socket(host: str, ports: tuple[int, int], **figures: list[float | None]) -> pl.DataFrame:
    """Samples every 100 ms of an established socket."""
    count = max(len(values) for values in figures.values())
    fixed = {"host": host, "ip": 4, "local_port": ports[0], "remote_port": ports[1], "state": "ESTAB"}
    empty = dict.fromkeys(SOCKETS.names, [None] * count)
    columns = empty | {key: [value] * count for key, value in fixed.items()} | figures
    columns["time_s"] = [i / 10 for i in range(count)]
    return pl.DataFrame(columns, schema=SOCKETS.schema)


def test_windows_of_several_connections_are_summed_and_what_is_full_is_said() -> None:
    one = socket(
        "server",
        (80, 40000),
        in_flight_bytes=[10_000, 20_000, 20_000, 20_000],
        cwnd_segments=[10, 20, 40, 40],
        mss_bytes=[1000] * 4,
        snd_wnd_bytes=[64_000, 64_000, 64_000, 20_000],
        sndbuf_bytes=[90_000] * 4,
        retransmits=[0, 0, 3, 3],
    )
    other = one.with_columns(remote_port=pl.lit(40001, dtype=pl.Int64))
    receiver = socket("client", (40000, 80), rcv_wnd_bytes=[65_000] * 4)
    found = windows.panel([Socket.of(one), Socket.of(other)], [Socket.of(receiver)], "down")
    assert found is not None
    by_label = {series.label: series for series in found.series}
    assert list(by_label["in flight down"].y) == [20, 40, 40, 40]
    assert list(by_label["cwnd"].y) == [20, 40, 80, 80]
    assert list(by_label["receive window, advertised"].y) == [65] * 4
    assert list(by_label["sent again"].x) == [0.2, 0.2]
    text = found.sentence.replace(NB, " ")
    assert "the congestion window is full 50 % of the time" in text
    assert "the receive window is full 25 % of the time" in text
    assert "the send buffer is never full" in text


def test_two_samples_of_a_socket_at_about_one_time_are_not_two_sockets() -> None:
    steady = socket(
        "server", (80, 40000), in_flight_bytes=[10_000] * 5, cwnd_segments=[20] * 5, mss_bytes=[1000] * 5
    )
    drifting = steady.with_columns(time_s=pl.Series([0.0, 0.1, 0.196, 0.204, 0.3]))
    found = windows.panel([Socket.of(drifting)], [], "down")
    assert found is not None
    assert {value for series in found.series if series.label == "cwnd" for value in series.y} == {20.0}


def test_a_socket_that_is_not_connected_has_no_windows() -> None:
    opening = socket("server", (80, 40000), in_flight_bytes=[1], cwnd_segments=[10], mss_bytes=[1000])
    state = pl.lit("SYN-RECV").alias("state")
    assert windows.panel([Socket.of(opening.with_columns(state))], [], "down") is None


def test_virtual_time_has_no_lateness_to_draw() -> None:
    assert lateness.build({"engine_error": {"lateness_histogram": [], "lateness_us_p99": 0}}) is None


@given(
    st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), min_size=1, max_size=3000),
    st.integers(1, 50),
)
def test_thinning_keeps_every_pixels_extremes_and_every_gap(y: list[float | None], width: int) -> None:
    kept = indices(np.array(y, dtype=float), width).tolist()
    assert kept == sorted(set(kept))
    assert kept[0] == 0
    assert kept[-1] == len(y) - 1
    known = [value for value in y if value is not None]
    left = [y[i] for i in kept if y[i] is not None]
    if known:
        assert max(left, default=0) == max(known)
        assert min(left, default=0) == min(known)
    gaps = sum(1 for i, value in enumerate(y) if value is None and (i == 0 or y[i - 1] is not None))
    assert sum(1 for i in kept if y[i] is None) >= gaps
    assert len(kept) <= 4 * width + gaps


def test_thinning_a_long_series_keeps_four_points_a_pixel_at_most() -> None:
    assert len(indices(np.arange(100_000.0) % 97, 900)) <= 4 * 900


def test_a_panel_of_many_long_series_is_thinned_to_what_a_page_can_hold() -> None:
    y = [float(i % 97) for i in range(60_000)]
    many = tuple(Series(f"{n}", list(range(60_000)), y, Role.DOWN) for n in range(64))
    chart = Chart("c", "t", "", Axis("time", "s"), (Panel("p", "t", "", Axis("window", "segments"), many),))
    assert len(json.dumps(plotly.figures(chart))) < 1_000_000


def test_every_role_has_a_colour_of_its_own_on_either_ground() -> None:
    for palette in (LIGHT, DARK):
        assert set(palette) == set(Role)
        assert len(set(palette.values())) == len(Role)


def test_every_axis_says_what_it_counts_and_in_which_unit(sweep: Results, geo: Results) -> None:
    found: list[Any] = [*files.over_all(sweep), over_time.build(geo, geo.records[0])]
    for chart in found:
        if chart.of_cells:
            continue  # their figures' unit is in the title
        assert chart.x.unit
        assert all(panel.y.unit and panel.y.label for panel in chart.panels)


def test_plotly_reads_no_markup_in_a_label(tmp_path: Path) -> None:
    results = Results.open(synthetic.run(tmp_path, rtt_ms=150))
    record = results.records[0]
    record["workloads"]["<b>x</b>"] = record["workloads"].pop("transfer")
    chart = over_time.build(results, record)
    assert chart is not None
    names = [trace["name"] for figure in plotly.figures(chart) for trace in figure["data"]]
    assert "&lt;b&gt;x&lt;/b&gt;, per second by iperf3" in names


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_the_same_chart_gives_the_same_file(tmp_path: Path, sweep: Results, form: str) -> None:
    chart = throughput_rtt.build(sweep, log=False)
    assert chart is not None
    first, second = (tmp_path / f"{name}.{form}" for name in ("first", "second"))
    matplotlib.save(chart, first)
    matplotlib.save(chart, second)
    assert first.read_bytes() == second.read_bytes()


def test_each_form_of_a_chart_is_a_file_named_after_it(
    tmp_path: Path, geo: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matplotlib, "save", lambda _chart, path: path.touch())
    names = [path.name for path in files.save_all(geo, tmp_path)]
    assert names == ["over-time-001.png", "over-time-001.svg", "over-time-001.pdf"]
    assert {path.name for path in tmp_path.iterdir()} == set(names)


@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), min_size=1, max_size=400), st.integers(1, 40))
def test_an_outline_keeps_the_extremes_and_curves_on_one_clock_share_theirs(
    y: list[float | None], width: int
) -> None:
    x = 0.1 * np.arange(len(y))
    found = envelope(x, np.array(y, dtype=float), width)
    places, kept = found[0].tolist(), found[1].tolist()
    known = [value for value in y if value is not None]
    assert len(kept) <= max(2 * width, 1) or len(y) <= 2 * width
    if known:
        assert max(known) in kept
        assert min(known) in kept
    assert places == envelope(x, np.ones(len(y)), width)[0].tolist()


@settings(max_examples=25)  # of forty figures and more each
@given(st.lists(st.one_of(st.floats(), st.integers(-(10**7), 10**7).map(lambda n: n / 1000)), min_size=40))
def test_figures_are_rounded_together_as_one_by_one(values: list[float]) -> None:
    assert shorts(np.array(values)) == [short(value) for value in values]


def test_a_title_with_an_apostrophe_is_drawn_without_a_warning_of_fonts(
    geo: Results, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chart, *_ = files.of_run(geo, geo.records[0])
    titled = replace(chart, panels=(replace(chart.panels[0], title="the tunnel's delay"),))
    matplotlib.save(titled, tmp_path / "chart.pdf")
    assert [each.getMessage() for each in caplog.records if each.name.startswith("fontTools")] == []


def test_a_short_logarithmic_axis_has_plain_numbers(geo: Results) -> None:
    chart, *_ = files.of_run(geo, geo.records[0])
    curve = replace(chart.panels[0].series[0], x=[1.0, 2.0], y=[60.0, 350.0], low=None, high=None)
    short = Panel("short", "Short", "", Axis("waiting", "kB", log=True), (curve,))
    drawn = matplotlib.figure(replace(chart, panels=(short,)))
    drawn.canvas.draw()
    (axes,) = drawn.axes
    labels = [label.get_text() for label in axes.get_yticklabels(which="both")]
    assert {"60", "100", "200"} <= {label for label in labels if label}
    assert not any("$" in label for label in labels)
