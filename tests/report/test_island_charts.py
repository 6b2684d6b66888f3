"""The charts of many flows behind one queue, on tables whose picture is known."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bentpipe.charts.build import completion, holders, progress
from bentpipe.charts.build.socket_samples import RunSockets
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.schema import TABLES
from bentpipe.runs.store import Results

RECORD: dict[str, Any] = {
    "workloads": {
        "clients": {"kind": "channels"},
        "download": {"kind": "bulk", "direction": "down", "completion_s": None},
    },
    "spec": {"workloads": [{"name": "download", "size_bytes": 40_000_000, "direction": "down"}]},
}


def table(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=TABLES[name].schema)


def sample(time_s: float, port: int, **more: Any) -> dict[str, Any]:
    known = {"host": "server", "local_port": 5201, "remote_port": port, "srtt_s": 0.5, "mss_bytes": 1000}
    return {"time_s": time_s, **known, **more}


def test_progress_is_what_the_workloads_own_connections_had_acknowledged() -> None:
    flows = table(
        "flows", [{"workload": "download", "client": "client", "local_port": 7, "remote_port": 5201}]
    )
    sockets = table(
        "sockets",
        [sample(t, port, bytes_acked=int(t * 1e6)) for t in (1.0, 2.0) for port in (7, 8)],
    )
    panel = progress.panel(RECORD, flows, RunSockets(sockets))
    assert panel is not None
    assert panel.series[0].y == [1.0, 2.0]
    assert "came to 5" in panel.sentence
    assert [level.value for level in panel.levels] == [40.0]


def test_a_run_without_a_given_size_has_no_progress() -> None:
    assert (
        progress.panel(
            {"workloads": {"rtt": {"kind": "ping"}}}, table("flows", []), RunSockets(table("sockets", []))
        )
        is None
    )


def test_a_flow_holds_of_the_queue_what_it_sends_times_the_wait() -> None:
    link = table("link", [{"time_s": 0.0, "pipe": "down", "queue_delay_s_mean": 0.05}])
    sockets = table(
        "sockets",
        [
            sample(0.05, port, cwnd_segments=10, in_flight_bytes=flying)
            for port, flying in ((1, 100_000), (2, 50_000), (3, 10_000), (4, 5_000), (5, 2_000), (6, 1_000))
        ],
    )
    queue, windows = holders.panels(RECORD, link, RunSockets(sockets), "down")
    assert [line.y for line in queue.series] == [[10.0], [5.0], [1.0], [0.5], [pytest.approx(0.3)]]
    assert queue.series[-1].label == "the other 2"
    assert len(windows.series) == 4


def test_a_queue_that_holds_nothing_has_no_holders() -> None:
    link = table("link", [{"time_s": 0.0, "pipe": "down", "queue_delay_s_mean": 0.0}])
    sockets = table("sockets", [sample(0.05, port, cwnd_segments=10, in_flight_bytes=9) for port in (1, 2)])
    assert holders.panels(RECORD, link, RunSockets(sockets), "down") == ()


def test_completion_by_size_has_the_median_of_flows_of_like_size(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run")
    rows = [
        {
            "workload": "clients",
            "direction": "down",
            "bytes": 1000,
            "start_s": 1.0,
            "end_s": 1.0 + n / 10,
        }
        for n in range(1, 22)
    ]
    unfinished = {"workload": "clients", "direction": "down", "bytes": 900, "start_s": 1.0, "end_s": None}
    folder.write_table("flows", table("flows", [*rows, unfinished]))
    folder.finish({"workloads": RECORD["workloads"]})
    results = Results.open(tmp_path)
    chart = completion.build(results, results.records[0])
    assert chart is not None
    points, median, p95 = chart.panels[0].series
    assert len(points.x) == 21
    assert (median.x, median.y) == ([pytest.approx(1.0)], [pytest.approx(1.1)])
    assert p95.y == [pytest.approx(2.0)]
