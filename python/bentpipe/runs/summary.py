"""run.json, and what the command line's `--json` prints of it."""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.runs.schema import DROP_CAUSES

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
    "tunnel",
    "split",
    "gateway",
)
BIN_S = 0.1


def summary(record: Mapping[str, Any]) -> dict[str, Any]:
    """The object of `--json`: figures only; what is long stays in run.json."""
    found = {key: record[key] for key in _SUMMARY_KEYS if key in record}
    if tunnel := record.get("tunnel"):
        found["tunnel"] = {name: tunnel_figures(of) for name, of in tunnel.items()}
    error = record.get("engine_error") or {}
    found["engine_error"] = {k: v for k, v in error.items() if not isinstance(v, (dict, list))}
    if hosts := error.get("hosts"):
        found["engine_error"]["hosts"] = {
            name: {k: v for k, v in host.items() if k != "programs"} for name, host in hosts.items()
        }
    return found


def tunnel_figures(of: Mapping[str, Any]) -> dict[str, Any]:
    """Of one direction, without what is by the second."""
    return {key: value for key, value in of.items() if not isinstance(value, dict)}


def pipes_summary(link: pl.DataFrame, end_s: float, bin_s: float = BIN_S) -> dict[str, dict[str, Any]]:
    """Each pipe's means from time 0 to `end_s`, and its drops over the whole run.

    `link` is one run's table, each pipe's rows in the order of time. A bin counts whole if it starts in that
    time; throughput and goodput are over the bins' time, so that a run of 60 s is measured over 60 s even
    where its last bins were empty.
    """
    return {
        pipe: json.loads(
            _core.pipe_figures(
                of_pipe["time_s"].to_list(),
                of_pipe["throughput_bytes"].to_list(),
                of_pipe["goodput_bytes"].to_list(),
                of_pipe["queue_bytes_mean"].to_list(),
                of_pipe["queue_bytes_max"].to_list(),
                [int(of_pipe[f"drops_{cause}"].sum()) for cause in DROP_CAUSES],
                end_s,
                bin_s,
            )
        )
        for pipe in ("down", "up")
        for of_pipe in (link.filter(pl.col("pipe") == pipe),)
    }
