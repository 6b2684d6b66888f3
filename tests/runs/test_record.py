"""The record's figures: what `--json` prints, and whether a run may be believed."""

import json
from collections.abc import Mapping
from typing import Any, get_type_hints

import polars as pl
import pytest

import bentpipe
from bentpipe.runs.figures.reliability import assess
from bentpipe.runs.record import (
    EngineReport,
    Fetch,
    FlowsOfSize,
    Machine,
    Record,
    SmallFlows,
    WorkloadFigures,
)
from bentpipe.runs.schema import LINK
from bentpipe.runs.summary import pipes_summary, summary

LIMITS = {"lateness_p99_s": 0.001, "unintended_loss": 0, "rate_error": 0.01}
GOOD = {"lateness_us_p99": 60, "lateness_count": 10, "unintended_loss": 0, "rate_error": None}


def bins(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame([dict.fromkeys(LINK.names, 0) | row for row in rows], schema=LINK.schema)


def test_a_pipes_rates_are_over_the_measured_time_and_its_drops_over_the_whole_run() -> None:
    link = bins(
        {"time_s": -0.1, "pipe": "down", "throughput_bytes": 9999, "drops_tail": 1},
        {
            "time_s": 0.0,
            "pipe": "down",
            "throughput_bytes": 1500,
            "goodput_bytes": 1448,
            "queue_bytes_mean": 10.0,
        },
        {
            "time_s": 0.1,
            "pipe": "down",
            "throughput_bytes": 1000,
            "queue_bytes_mean": 30.0,
            "queue_bytes_max": 70,
        },
        {"time_s": 0.2, "pipe": "down", "throughput_bytes": 9999, "drops_tail": 2, "queue_bytes_max": 500},
        {"time_s": 0.0, "pipe": "up", "throughput_bytes": 52},
    )
    down = pipes_summary(link, end_s=0.2)["down"]
    assert down["throughput_mbit_s"] == pytest.approx(2500 * 8 / 0.2 / 1e6)
    assert down["goodput_mbit_s"] == pytest.approx(1448 * 8 / 0.2 / 1e6)
    assert down["drops"]["tail"] == 3
    assert down["queue_bytes_mean"] == pytest.approx(20)
    assert down["queue_bytes_max"] == 70


def test_bins_whose_times_are_not_exact_in_binary_are_counted_once() -> None:
    link = bins(*({"time_s": i * 0.1, "pipe": "down", "throughput_bytes": 1000} for i in range(600)))
    assert pipes_summary(link, end_s=60.0)["down"]["throughput_mbit_s"] == pytest.approx(0.08)


def test_a_run_that_measured_nothing_has_no_queue_not_an_empty_one() -> None:
    up = pipes_summary(LINK.empty(), end_s=1.0)["up"]
    assert up["queue_bytes_mean"] is None
    assert up["queue_bytes_max"] is None


def test_the_json_object_has_the_promised_keys_and_no_histogram() -> None:
    record = {
        "lab": "geo",
        "engine": "live",
        "seed": 1,
        "variant": "as is",
        "point": {"path.rtt": "550 ms"},
        "reliable": True,
        "why": [],
        "folder": "runs/geo/1",
        "wall_s": 60.9,
        "workloads": {"rtt": {"kind": "ping"}},
        "pipes": {"down": {}, "up": {}},
        "engine_error": GOOD | {"lateness_histogram": [[1, 2]], "per_pipe": {"down": {}}},
        "spec": {"long": True},
        "sysctl": {},
    }
    found = json.loads(json.dumps(summary(record)))
    assert list(found) == [
        *("lab", "engine", "seed", "variant", "point", "reliable", "why", "folder", "wall_s"),
        *("workloads", "pipes", "engine_error"),
    ]
    assert found["engine_error"] == GOOD


def test_a_run_within_its_limits_is_reliable() -> None:
    assert assess(GOOD, LIMITS) == (True, [])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"lateness_us_p99": 2400}, "left 2.4 ms or more after the model's time; the limit is 1 ms"),
        ({"lateness_us_p99": 1_110_000}, "left 1.11 s or more"),
        ({"lateness_us_p99": None}, "did not say how late"),
        ({"unintended_loss": 1}, "1 packet was lost outside the model; the limit is 0"),
        (
            {"unintended_loss": 7, "unintended_loss_by": {"device": 0, "socket_buffer": 7}},
            "7 packets were lost outside the model (socket buffer 7)",
        ),
        ({"unintended_loss": None}, "did not count"),
        ({"rate_error": -0.03}, "3 % off the one configured; the limit is 1 %"),
    ],
)
def test_each_limit_passed_is_a_reason(changes: dict[str, object], says: str) -> None:
    reliable, why = assess(GOOD | changes, LIMITS)
    assert not reliable
    assert len(why) == 1
    assert says in why[0]


def test_a_path_that_carried_nothing_was_not_late() -> None:
    assert assess(GOOD | {"lateness_us_p99": None, "lateness_count": 0}, LIMITS) == (True, [])


def test_what_a_run_says_of_its_work_and_machine_has_a_type() -> None:
    record = bentpipe.simulate(
        bentpipe.Lab(
            duration="3 s",
            path={"rtt": "20 ms", "rate": "10 Mbit/s"},
            workload=[
                {"kind": "http", "size": "50 kB", "fetches": 2},
                {"kind": "channels", "channels": 3, "size": "20 kB"},
                {"kind": "bulk", "time": "1 s"},
                {"kind": "ping", "count": 3},
            ],
        )
    ).record
    http, channels = record["workloads"]["http"], record["workloads"]["channels"]
    typed: list[tuple[Mapping[str, Any], Any]] = [
        (record, Record),
        (record["machine"], Machine),
        (record["engine_error"], EngineReport),
        *((figures, WorkloadFigures) for figures in record["workloads"].values()),
        *((fetch, Fetch) for fetch in http["per_fetch"]),
        (channels["small_flows"], SmallFlows),
        *((of_size, FlowsOfSize) for of_size in channels["fct_by_size"]),
    ]
    assert [(kind, key) for of, kind in typed for key in of if key not in get_type_hints(kind)] == []
