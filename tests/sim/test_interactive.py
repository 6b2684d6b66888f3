"""Keystrokes in the simulator, from the lab file to tables, comparisons, charts and words."""

import math
from pathlib import Path

import polars as pl
import pytest

import bentpipe
from bentpipe.analysis.kinds.interactive import INTERACTIVE
from bentpipe.analysis.limits import explain
from bentpipe.charts.build import over_time
from bentpipe.report import explained
from bentpipe.runs.figures.answers import answers

LAB = """
duration = "30 s"
[path]
rtt = "100 ms"
rate = "8 Mbit/s"
queue = "100 kB"
[[workload]]
name = "keys"
kind = "interactive"
interval = "100 ms"
"""
BULK = '[[workload]]\nname = "download"\nkind = "bulk"\n'
PINGS = '[[workload]]\nname = "rtt"\nkind = "ping"\ncount = 20\n'
ROUND_TRIP_MS = 100.0 + 2 * 88 * 8 / 8e3
"""And 36 bytes with 52 of headers at 8 Mbit/s, both ways."""


def simulated(text: str, **more: int) -> bentpipe.Results:
    return bentpipe.Lab.loads(text, **more).run(engine="sim")


def test_every_message_is_a_row_and_the_record_has_their_percentiles() -> None:
    results = simulated(LAB)
    (record,) = results.records
    figures = record["workloads"]["keys"]
    # A round trip to connect; the answers to the last two messages were on the way, which left them out.
    assert figures["sent"] == results.pings.height == 298
    assert figures["unanswered"] == 0
    delays_ms = (results.pings["rtt_s"] * 1e3).to_list()
    assert figures["max_ms"] == pytest.approx(max(delays_ms))
    assert figures["p50_ms"] == pytest.approx(ROUND_TRIP_MS, abs=0.3)
    assert figures["p99_ms"] == pytest.approx(ROUND_TRIP_MS, abs=0.5)
    assert results.pings["workload"].unique().to_list() == ["keys"]
    assert results.pings["sequence"].to_list() == list(range(1, 299))
    assert results.flows.is_empty()
    sockets = results.sockets.filter(pl.col("workload") == "keys")
    assert set(sockets["host"]) == {"client", "server"}


def test_a_download_beside_it_shows_in_the_tail() -> None:
    alone, beside = simulated(LAB).records[0], simulated(LAB + BULK).records[0]
    queue_ms = 100e3 * 8 / 8e3
    p99 = [record["workloads"]["keys"]["p99_ms"] for record in (alone, beside)]
    assert p99[0] < ROUND_TRIP_MS + 1
    assert ROUND_TRIP_MS + 0.8 * queue_ms < p99[1] < ROUND_TRIP_MS + queue_ms + 3


def test_runs_are_compared_by_p99_and_fewer_than_100_messages_have_none() -> None:
    first = INTERACTIVE.measures[0]
    assert first.key == "p99_ms"
    assert not first.more_is_better
    few = simulated(LAB + "count = 50\n").records[0]
    assert few["workloads"]["keys"]["sent"] == 50
    assert few["workloads"]["keys"]["p99_ms"] is None
    assert first.values(few, "keys") == []


def test_a_percentile_that_has_no_answer_is_infinite() -> None:
    record = {"workloads": {"keys": answers([100.0] * 196, 4)}}
    p99, p95, p50, *_ = INTERACTIVE.measures
    assert p99.values(record, "keys") == [math.inf]
    assert p95.values(record, "keys") == [100.0]
    assert p50.values(record, "keys") == [100.0]


def test_a_time_and_exponential_gaps_are_as_asked() -> None:
    text = LAB + 'time = "20 s"\ngaps = "exponential"\n'
    results = simulated(text)
    sent_s = results.pings["time_s"]
    assert sent_s.max() < 20.1
    # 200 on average, with a deviation of 14.
    assert 150 < sent_s.len() < 250
    gaps_s = sent_s.diff().drop_nulls()
    assert gaps_s.min() < 0.02
    assert gaps_s.max() > 0.3
    assert simulated(text).pings.equals(results.pings)
    assert simulated(text, seed=2).pings["time_s"].len() != sent_s.len()


def test_the_run_page_draws_them_apart_from_pings(tmp_path: Path) -> None:
    results = bentpipe.Lab.loads(LAB + BULK + PINGS).run(engine="sim", out=tmp_path / "out")
    chart = over_time.build(results, results.records[0])
    assert chart
    panel = next(panel for panel in chart.panels if panel.name == "rtt")
    points = {series.label: len(series.x) for series in panel.series}
    assert points["ping"] == 20
    assert points["keys"] == results.pings.height - 20
    assert "of 20, none got lost" in panel.sentence
    assert "messages of keys, none had no answer" in panel.sentence


def test_explain_says_the_delays() -> None:
    results = simulated(LAB + BULK)
    *_, last = explained.lines(explain(results, results.records[0]))
    assert last.startswith("  Keystrokes of keys: p50 ")
    assert "p99 " in last
    assert last.endswith("; 0 of 298 unanswered.")


def test_a_path_that_lets_nothing_back_leaves_all_unanswered() -> None:
    results = simulated(LAB + 'start = "1 s"\n' + '[path.up]\noutages = [["5 s", "60 s"]]\n')
    figures = results.records[0]["workloads"]["keys"]
    assert figures["unanswered"] > 200
    assert figures["sent"] == results.pings.height
    assert results.pings.filter(pl.col("rtt_s").is_null()).height == figures["unanswered"]
