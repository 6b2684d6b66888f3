"""Sweeps of a few milliseconds a run, and what of their folders must not depend on how they were made."""

import json
from pathlib import Path
from typing import Any

import polars as pl

import bentpipe
from bentpipe.runs.schema import TABLES

LAB = """
title = "Small transfers"
until = "done"
duration = "5 s"
[path]
rtt = "20 ms"
rate = "20 Mbit/s"
[[workload]]
name = "download"
kind = "bulk"
direction = "down"
size = "20 kB"
[sweep]
"path.rtt" = ["10 ms", "20 ms"]
"path.loss" = [0, 0.01]
"""
OWN_OF_A_RUN = ("started", "wall_s", "folder", "engine_error")
"""What differs between two runs of the same."""


def small_lab(folder: Path, repeat: int = 2) -> bentpipe.Lab:
    file = folder / "small.toml"
    file.write_text(LAB)
    return bentpipe.Lab.load(file, repeat=repeat)


def rows(folder: Path | str) -> dict[str, Any]:
    """Every record and every table of a sweep's runs by the runs' names."""
    results = bentpipe.Results.open(folder)
    found: dict[str, Any] = {}
    for record in results.records:
        name = record["run"]
        tables = {table: results.of_run(name, table).to_dicts() for table in TABLES}
        kept = {key: value for key, value in record.items() if key not in OWN_OF_A_RUN}
        found[name] = (json.dumps(kept, sort_keys=True), tables)
    return found


def counted(results: bentpipe.Results, **sought: Any) -> int:
    """Runs whose record has these values."""
    return sum(all(run[key] == value for key, value in sought.items()) for run in results.records)


def table_of(folder: Path, run: str, table: str) -> pl.DataFrame:
    return bentpipe.Results.open(folder).of_run(run, table)
