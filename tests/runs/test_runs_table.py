"""The table of runs: a figure's dotted path is its name."""

from datetime import datetime
from typing import Any

import polars as pl
import pytest

from bentpipe.runs.runs_table import RUNS, runs_table


def table(*records: dict[str, Any]) -> pl.DataFrame:
    return runs_table([{"run": str(number)} | record for number, record in enumerate(records, 1)])


def column(frame: pl.DataFrame, path: str) -> pl.Series:
    first, *rest = path.split(".")
    found = frame[first]
    for field in rest:
        found = found.struct.field(field)
    return found


def test_a_swept_key_is_reached_by_its_own_dots() -> None:
    frame = table({"point": {"path.rtt": "30 ms"}}, {"point": {"path.rtt": "550 ms"}})
    assert column(frame, "point.path.rtt").to_list() == ["30 ms", "550 ms"]


@pytest.mark.parametrize(
    ("values", "become"),
    [
        ([1, 2], [1, 2]),
        ([1, 0.5], [1.0, 0.5]),
        ([True, None], [True, None]),
        ([0.01, "1 %"], ["0.01", "1 %"]),
        ([True, 1], ["true", "1"]),
        ([[4096, 8192], "x"], ["[4096, 8192]", "x"]),
        ([{"a": 1}, None], ['{"a": 1}', None]),
        ([2**70, 1], [float(2**70), 1.0]),
    ],
)
def test_a_point_is_numbers_where_all_are_and_else_text(values: list[Any], become: list[Any]) -> None:
    found = column(table(*({"point": {"k": value}} for value in values)), "point.k")
    assert found.to_list() == become
    assert [type(value) for value in found.to_list()] == [type(value) for value in become]


def test_a_start_that_its_zone_takes_out_of_all_years_is_null() -> None:
    frame = table({"started": "0001-01-01T00:00:00+14:00"}, {"started": "9999-12-31T23:59:59-14:00"})
    assert frame["started"].to_list() == [None, None]


def test_a_key_that_goes_on_in_another_keeps_its_value_below() -> None:
    frame = table({"point": {"path.rate": 5}}, {"point": {"path.rate.burst": "10 kB"}})
    assert column(frame, "point.path.rate.value").to_list() == [5, None]
    assert column(frame, "point.path.rate.burst").to_list() == [None, "10 kB"]


def test_figures_are_scalars_however_deep_and_series_stay_in_the_record() -> None:
    entry = {"goodput_mbit_s": 2.5, "per_second_mbit_s": [2.0], "small_flows": {"p95_s": 1.1}, "cache": None}
    frame = table({"workloads": {"clients": entry}, "pipes": {"down": {"drops": {"tail": 3}}}})
    assert column(frame, "workload.clients.goodput_mbit_s").to_list() == [2.5]
    assert column(frame, "workload.clients.small_flows.p95_s").to_list() == [1.1]
    assert column(frame, "pipe.down.drops.tail").to_list() == [3]
    assert "per_second_mbit_s" not in column(frame, "workload.clients").struct.fields


def test_what_is_absent_in_some_runs_is_null_there_and_a_table_elsewhere_takes_its_place() -> None:
    frame = table(
        {"workloads": {"fetch": {"cache": None}}},
        {"workloads": {"fetch": {"cache": {"hits": 2}}}},
        {"workloads": {"rtt": {"median_ms": 3.0}}},
    )
    assert column(frame, "workload.fetch.cache.hits").to_list() == [None, 2, None]
    assert column(frame, "workload.rtt.median_ms").to_list() == [None, None, 3.0]


def test_a_run_that_swept_and_did_nothing_has_the_plain_columns_only() -> None:
    frame = table({"point": {}, "workloads": {}})
    assert frame.columns == [column.name for column in RUNS.columns if column.dtype != pl.Struct({})]


def test_the_moment_is_in_utc_and_the_round_trip_from_what_was_asked() -> None:
    frame = table(
        {
            "started": "2026-01-31T12:00:00+01:00",
            "spec": {"path": {"base_rtt_ns": 30_000_000}, "near": {"rtt_ns": 2_000_000}},
        }
    )
    assert frame["started"].to_list() == [datetime(2026, 1, 31, 11, 0)]
    assert frame["rtt_s"].to_list() == [0.032]


def test_a_record_of_another_shape_has_nulls_where_it_is_not_understood() -> None:
    frame = table({"seed": "seven", "title": 5, "why": "busy", "started": "then", "reliable": None})
    assert frame.row(0, named=True) == dict.fromkeys(frame.columns) | {"run": "1", "why": []}
