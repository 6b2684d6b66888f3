"""Figures of a cell's live and simulated runs beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import polars as pl
from grid import Cell

from bentpipe import Results, StoreError

_PORT = 5201
_CONTROL_BYTES = 10_000
"""A connection that sent less is the control connection."""


@dataclass(frozen=True)
class Figures:
    """Means over the runs of one engine."""

    runs: int
    goodput_mbit_s: float
    goodput_spread: float | None
    """Standard deviation over mean of the goodput; None: one run."""
    retransmits: float
    queue_kb: float
    cwnd: list[float]
    """Segments in all streams' windows, second by second of the transfer, mean over the runs. Empty where
    TCP is split: the server's window then says nothing of the path."""


@dataclass(frozen=True)
class Comparison:
    cell: Cell
    live: Figures
    sim: Figures

    @property
    def goodput_error(self) -> float:
        """(sim - live) / live."""
        return (self.sim.goodput_mbit_s - self.live.goodput_mbit_s) / self.live.goodput_mbit_s

    @property
    def queue_error_kb(self) -> float:
        return self.sim.queue_kb - self.live.queue_kb

    @property
    def cwnd_distance(self) -> float | None:
        """Mean absolute difference of the two windows over time, as a share of live's mean window. None: no
        window was compared."""
        pairs = list(zip(self.live.cwnd, self.sim.cwnd, strict=False))
        if not pairs:
            return None
        apart = fmean(abs(live - sim) for live, sim in pairs)
        return apart / fmean(live for live, _ in pairs)


def compare(cell: Cell, out: Path) -> Comparison | None:
    """None where one of the engines has no sound run of the cell."""
    live_runs, sim_runs = (_sound(out / engine / cell.name) for engine in ("live", "sim"))
    if not live_runs or not sim_runs:
        return None
    both = (live_runs, sim_runs)
    # The same seed draws the same losses and delays on both engines, so equal seeds are compared.
    seeds = set.intersection(*({run["seed"] for run in runs} for _, runs in both)) if cell.by_chance else None
    live, sim = (_figures(cell, results, runs, seeds) for results, runs in both)
    return Comparison(cell, live, sim) if live and sim else None


def _sound(place: Path) -> tuple[Results, list[dict[str, Any]]] | None:
    try:
        results = Results.open(place)
    except StoreError:
        return None
    return results, [run for run in results.records if run["reliable"] and run["status"] == "done"]


def _figures(
    cell: Cell, results: Results, runs: Sequence[dict[str, Any]], seeds: set[int] | None
) -> Figures | None:
    sound = [run for run in runs if seeds is None or run["seed"] in seeds]
    if not sound:
        return None
    transfers = [run["workloads"]["download"] for run in sound]
    goodputs = [transfer["goodput_mbit_s"] for transfer in transfers]
    return Figures(
        len(sound),
        fmean(goodputs),
        stdev(goodputs) / fmean(goodputs) if len(goodputs) > 1 else None,
        fmean(transfer["retransmits"] for transfer in transfers),
        fmean(_queue_kb(results.of_run(run["run"], "link"), cell) for run in sound),
        []
        if "split" in cell.link
        else _mean_curve([_cwnd(results.of_run(run["run"], "sockets"), cell) for run in sound]),
    )


def _queue_kb(link: pl.DataFrame, cell: Cell) -> float:
    """Over the seconds of the transfer, from the first bin in which a full packet came."""
    down = link.filter(pl.col("pipe") == "down")
    begins = down.filter(pl.col("goodput_bytes") >= 1000)["time_s"].min()
    if not isinstance(begins, float):
        return 0.0
    during = down.filter(pl.col("time_s").is_between(begins, begins + cell.seconds))
    return fmean(during["queue_bytes_mean"].to_list()) / 1000


def _cwnd(sockets: pl.DataFrame, cell: Cell) -> list[float]:
    sending = sockets.filter(
        (pl.col("host") == "server")
        & (pl.col("local_port") == _PORT)
        & (pl.col("bytes_sent") > _CONTROL_BYTES)
    )
    begins = sending["time_s"].min()
    if not isinstance(begins, float):
        return []
    by_second = (
        sending.with_columns(second=(pl.col("time_s") - begins).floor().cast(pl.Int64))
        .filter(pl.col("second") < cell.seconds)
        .group_by("second", "remote_port")
        .agg(pl.col("cwnd_segments").mean())
        .group_by("second")
        .agg(pl.col("cwnd_segments").sum())
        .sort("second")
    )
    return [float(value) for value in by_second["cwnd_segments"].to_list()]


def _mean_curve(curves: Sequence[list[float]]) -> list[float]:
    return [fmean(values) for values in zip(*curves, strict=False)]
