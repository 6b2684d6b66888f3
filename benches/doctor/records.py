"""Runs of labelled labs, kept in a folder so that a changed rule costs no new simulation.

A run is sampled every 10 ms. Coarser samples are every n-th of these, as a socket that is read less often
gives them. A file's name follows from the lab and from the compiled simulator: another one simulates anew.
"""

import hashlib
import io
import json
import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from planted import MSS, Planted

import bentpipe
from bentpipe import _core
from bentpipe.doctor import from_run
from bentpipe.doctor.evidence import Evidence, SeenFrom

FOLDER = Path(__file__).resolve().parents[2] / "runs" / "doctor-set"
FINEST_S = 0.01
_LEAST_TIMEOUTS = 3
_COSTS = 1.1


@dataclass(frozen=True)
class Kept:
    """What is left of a run."""

    used_share: float
    """Of the path's rate, by the pipe's own figures, while the transfer lasted."""
    record: Mapping[str, Any]
    parquet: Mapping[str, bytes]
    """Its tables."""

    @cached_property
    def _tables(self) -> dict[str, pl.DataFrame]:
        return {name: pl.read_parquet(io.BytesIO(each)) for name, each in self.parquet.items()}

    def timeouts(self) -> int:
        """Retransmission timers that ran out, at most of a socket of the transfer, as the kernel counts."""
        own = self._tables["sockets"].filter(pl.col("role").fill_null("data") == "data")
        return int(own["total_rto"].max() or 0)  # type: ignore[arg-type]

    def seen_from(self, end: SeenFrom, every_s: float, finest_s: float = FINEST_S) -> list[Evidence]:
        """The evidence of that end with samples so often. `finest_s`: between those that were taken. Real
        samples have any phase, so rounding their times to another grid would drop some."""
        tables = self._tables
        sockets = tables["sockets"]
        number = (sockets["time_s"] / finest_s).round().cast(pl.Int64)
        nth = max(round(every_s / finest_s), 1)
        chosen = sockets if nth == 1 else sockets.filter(number % nth == 0)
        return list(from_run.transfers(self.record, {**tables, "sockets": chosen}, end))


def kept(lab: dict[str, Any]) -> Kept:
    """The run of that lab, simulated if it is not there."""
    file = place(lab)
    if file.exists():
        found: Kept = pickle.loads(file.read_bytes())
        return found
    run = bentpipe.simulate(bentpipe.Lab(**lab), sample_s=FINEST_S)
    tables = {name: parquet(run.table(name)) for name in ("sockets", "flows", "pings")}
    found = Kept(used_share(run.record, run.table("flows")), run.record, tables)
    keep(file, found)
    return found


def has_its_limit(planted: Planted, run: Kept) -> bool:
    """Whether the run was limited by what was planted: its use of the path is in the kind's range, and the
    limit costs more than all else. What all else costs is what the lab without the limit leaves unused, by
    `sim`: mostly slow start, in short transfers. Of two limits, each that can be lifted has to cost a tenth.
    Of `timeouts`, timers have to have run out."""
    used = run.used_share
    if not planted.least_used <= used <= planted.most_used:
        return False
    if planted.kind == "timeouts" and run.timeouts() < _LEAST_TIMEOUTS:
        return False
    if any(kept(each).used_share < _COSTS * used for each in planted.without_one):
        return False
    if planted.lifted is None:
        return True
    without = kept(planted.lifted).used_share
    return without - used > 1 - without


def place(lab: dict[str, Any], *more: str) -> Path:
    """The file of that lab's record."""
    words = json.dumps([lab, FINEST_S, simulator(), *more], sort_keys=True)
    return FOLDER / f"{hashlib.sha256(words.encode()).hexdigest()[:24]}.pickle"


def keep(file: Path, found: object) -> None:
    """Whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    staged = file.with_suffix(f".{os.getpid()}")
    staged.write_bytes(pickle.dumps(found))
    staged.rename(file)


def parquet(table: pl.DataFrame) -> bytes:
    into = io.BytesIO()
    table.write_parquet(into)
    return into.getvalue()


@cache
def simulator() -> str:
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def used_share(record: Mapping[str, Any], flows: pl.DataFrame) -> float:
    """Of the path's rate, by the pipe's and the programs' own figures."""
    work = next(iter(record["workloads"].values()))
    way = work["direction"]
    if not flows.height:
        return 0.0  # Nothing was ever connected.
    own = flows.filter(flows["workload"] == next(iter(record["workloads"])))
    end_s = own["end_s"].max() or record["spec"]["duration_s"]
    rate = _rate_bit_s(record["spec"]["path"][way]["shaper"], end_s)
    lasted_s = end_s - own["start_s"].min()
    return float(work["bytes"] * 8 * (MSS + 52) / MSS / lasted_s / rate) if lasted_s > 0 else 0.0


def _rate_bit_s(shaper: Mapping[str, Any], until_s: float) -> float:
    """Of steps, the mean until then."""
    if shaper["kind"] != "steps":
        return float(shaper["rate_bit_s"])
    begin_s = [each["at_ns"] / 1e9 for each in shaper["steps"]]
    spans = np.diff(np.minimum([*begin_s, until_s], until_s))
    return float(np.average([each["rate_bit_s"] for each in shaper["steps"]], weights=spans))
