"""A sweep of as many runs as wanted: one real run's folder, with other seeds and points in its record.

The tables are links to that run's, so they cost no room; whoever reads them opens and reads every one.
"""

import json
import random
import shutil
from pathlib import Path
from typing import Any

from bentpipe import Lab

_LAB = """
title = "One of many"
until = "done"
[path]
rtt = "30 ms"
rate = "100 Mbit/s"
[[workload]]
name = "rtt"
kind = "ping"
count = 5
start = "-2 s"
[[workload]]
name = "download"
kind = "bulk"
time = "3 s"
"""
_SEEDS = 10


def make(out: Path, runs: int) -> None:
    """In the manner of a sweep over 20 round trips, as many losses as it takes, and 10 seeds."""
    one = out / "one"
    (out / "lab.toml").write_text(_LAB)
    Lab.load(out / "lab.toml").run(engine="sim", out=one)
    (folder,) = [record.parent for record in one.glob("*/run.json")]
    record = json.loads((folder / "run.json").read_text())
    draws = random.Random(1)
    many = out / "many"
    many.mkdir()
    for number in range(runs):
        cell, seed = divmod(number, _SEEDS)
        loss, rtt_ms = divmod(cell, 20)
        place = many / f"{cell + 1:04d}_as-is_{10 + 10 * rtt_ms}-ms_{loss / 1000}_seed-{seed + 1}"
        place.mkdir()
        for table in folder.glob("*.parquet"):
            (place / table.name).hardlink_to(table)
        changed = _changed(record, 10 + 10 * rtt_ms, loss / 1000, seed + 1, draws)
        (place / "run.json").write_text(json.dumps(changed, indent=1))
    shutil.copy(one / "lab.json", many)


def _changed(
    record: dict[str, Any], rtt_ms: int, loss: float, seed: int, draws: random.Random
) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(record))
    found |= {
        "seed": seed,
        "repeat_index": seed - 1,
        "point": {"path.rtt": f"{rtt_ms} ms", "path.loss": loss},
    }
    found["spec"]["path"]["base_rtt_ns"] = rtt_ms * 1_000_000
    found["spec"]["path"]["down"]["channel"]["loss"] = {"model": "bernoulli", "p": loss}
    found["workloads"]["download"]["goodput_mbit_s"] *= draws.uniform(0.5, 1.0)
    found["workloads"]["rtt"]["median_ms"] = rtt_ms * draws.uniform(1.0, 1.1)
    return found
