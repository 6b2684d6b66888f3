"""run.json, and what the command line's `--json` prints of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from bentpipe.results.schema import DROP_CAUSES

_SUMMARY_KEYS = (
    "lab",
    "engine",
    "seed",
    "variant",
    "point",
    "status",
    "reliable",
    "why",
    "folder",
    "wall_s",
    "workloads",
    "pipes",
    "queue",
)
BIN_S = 0.1


def summary(record: Mapping[str, Any]) -> dict[str, Any]:
    """The object of `--json`: figures only; what is long stays in run.json."""
    found = {key: record[key] for key in _SUMMARY_KEYS if key in record}
    error = record.get("engine_error") or {}
    found["engine_error"] = {k: v for k, v in error.items() if not isinstance(v, (dict, list))}
    if hosts := error.get("hosts"):
        found["engine_error"]["hosts"] = {
            name: {k: v for k, v in host.items() if k != "programs"} for name, host in hosts.items()
        }
    return found


def pipes_summary(link: pl.DataFrame, end_s: float, bin_s: float = BIN_S) -> dict[str, dict[str, Any]]:
    """Each pipe's means from time 0 to `end_s`, and its drops over the whole run.

    `link` is one run's table. A bin counts whole if it starts in that time; throughput and goodput are over
    the bins' time, so that a run of 60 s is measured over 60 s even where its last bins were empty.
    """
    measured = (link["time_s"] > -bin_s / 2) & (link["time_s"] < end_s - bin_s / 2)
    seconds = max(round(end_s / bin_s), 1) * bin_s
    return {
        pipe: {
            "throughput_mbit_s": _total(of_pipe, "throughput_bytes") * 8e-6 / seconds,
            "goodput_mbit_s": _total(of_pipe, "goodput_bytes") * 8e-6 / seconds,
            "drops": {cause: _total(whole, f"drops_{cause}") for cause in DROP_CAUSES},
            "queue_bytes_mean": _mean(of_pipe, "queue_bytes_mean"),
            "queue_bytes_max": _most(of_pipe, "queue_bytes_max"),
        }
        for pipe in ("down", "up")
        for whole in (_Part(link, link["pipe"] == pipe),)
        for of_pipe in (_Part(link, measured & (link["pipe"] == pipe)),)
    }


@dataclass(frozen=True)
class _Part:
    """Some rows of a table, of which only single columns are wanted: much quicker than a table of them."""

    table: pl.DataFrame
    rows: pl.Series

    def __getitem__(self, column: str) -> pl.Series:
        return self.table[column].filter(self.rows)


def _total(part: _Part, column: str) -> int:
    return int(part[column].sum())


def _mean(part: _Part, column: str) -> float | None:
    values = part[column].drop_nulls().to_list()
    return sum(values) / len(values) if values else None


def _most(part: _Part, column: str) -> int | None:
    values = part[column].drop_nulls().to_list()
    return max(values) if values else None
