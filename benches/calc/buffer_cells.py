"""A small send buffer in `sim` and in `live`: the same lab, and the rate by the sender's own count."""

import itertools
import json
import shutil
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import bentpipe

HERE = Path(__file__).parent
LAB = HERE / "buffer.toml"
_PROGRAMS = {"iperf3": "iperf3", "nginx": "long", "curl": "short"}
"""What `calc --program` calls each."""


@dataclass(frozen=True)
class Cell:
    """One path, one send buffer, one program that sends."""

    rate_mbit_s: float
    rtt_ms: float
    sndbuf_kib: int
    program: str
    mtu: int = 1500
    queue_bdp: float = 1

    @property
    def name(self) -> str:
        return (
            f"{self.program}_{self.rate_mbit_s:g}M_{self.rtt_ms:g}ms_{self.sndbuf_kib}KiB"
            f"_{self.queue_bdp:g}bdp_mtu{self.mtu}"
        )

    @property
    def seconds(self) -> tuple[float, float]:
        """What is measured, in seconds since the transfer began."""
        settled_s = max(5.0, 25 * self.rtt_ms / 1000)
        return settled_s, settled_s + max(15.0, 50 * self.rtt_ms / 1000)

    @property
    def settings(self) -> list[str]:
        end_s = round(self.seconds[1] + 1)
        work = {
            "iperf3": ["workload.download.kind=bulk", f"workload.download.time={end_s} s"],
            "nginx": [
                "workload.download.kind=http",
                f"workload.download.size={round(self.rate_mbit_s * (end_s + 5) / 8)} MB",
                f"duration={end_s} s",
            ],
            "curl": [
                "workload.download.kind=http",
                "workload.download.direction=up",
                f"workload.download.size={round(self.rate_mbit_s * (end_s + 5) / 8)} MB",
                f"duration={end_s} s",
            ],
        }[self.program]
        return [
            f"path.rate={self.rate_mbit_s:g} Mbit/s",
            f"path.rtt={self.rtt_ms:g} ms",
            f"path.queue={self.queue_bdp:g} bdp",
            f"path.mtu={self.mtu}",
            f"host.tcp_wmem=[4096, 16384, {self.sndbuf_kib * 1024}]",
            *work,
        ]


def cells() -> list[Cell]:
    grid = tomllib.loads((HERE / "grid.toml").read_text(encoding="utf-8"))
    found = []
    for table in grid["buffers"]:
        axes = {key: value if isinstance(value, list) else [value] for key, value in table.items()}
        found += [
            Cell(**dict(zip(axes, chosen, strict=True))) for chosen in itertools.product(*axes.values())
        ]
    return found


def formula_mbit_s(cell: Cell) -> float:
    """What `calc` says of the payload: the send buffer's limit, or the link's where that is less."""
    found = bentpipe.calc(
        f"{cell.rate_mbit_s:g} Mbit/s",
        f"{cell.rtt_ms:g} ms",
        sndbuf=f"{cell.sndbuf_kib} KiB",
        queue=f"{cell.queue_bdp:g} bdp",
        mtu=cell.mtu,
        program=_PROGRAMS[cell.program],
        sim=False,
    )
    named = {each.name: each.goodput_bit_s for each in found.limits}
    return min(named["send buffer"], named["capacity"]) / 1e6


def table(out: Path, machine: str) -> str:
    """Formula, `sim` and `live` of every cell. Errors are against `live`."""
    lines = [
        "| program | path | queue | MTU | buffer | formula | sim | live | formula's error | sim's |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    of_formula, of_sim = [], []
    for cell in cells():
        said, simulated, real = formula_mbit_s(cell), sim(cell, out), measured(out / "live" / cell.name, cell)
        errors = "| |"
        if real is not None and simulated is not None:
            of_formula.append(abs(said / real - 1))
            of_sim.append(abs(simulated / real - 1))
            errors = f"| {said / real - 1:+.0%} | {simulated / real - 1:+.0%} |"
        size = f"{cell.sndbuf_kib} KiB" if cell.sndbuf_kib < 1024 else f"{cell.sndbuf_kib // 1024} MiB"
        lines.append(
            f"| {cell.program} | {cell.rate_mbit_s:g} Mbit/s, {cell.rtt_ms:g} ms | {cell.queue_bdp:g} BDP "
            f"| {cell.mtu} | {size} | {said:.3g} | {_shown(simulated)} | {_shown(real)} {errors}"
        )
    summary = [
        f"{len(of_sim)} of {len(cells())} cells have a reliable live run ({machine}; one run each).",
        "The columns are Mbit/s of payload.",
        f"Error of the formula against `live`: {_spread(of_formula)}. Of `sim`: {_spread(of_sim)}.",
    ]
    return "\n".join([*summary, "", *lines])


def _shown(mbit_s: float | None) -> str:
    return "" if mbit_s is None else f"{mbit_s:.3g}"


def _spread(errors: list[float]) -> str:
    if not errors:
        return "no live run"
    return f"median {statistics.median(errors):.1%}, largest {max(errors):.0%}"


def live(chosen: list[Cell], out: Path, say: Callable[[str], None]) -> None:
    """Do the live runs that are missing. One that is not reliable is done again the next time."""
    for cell in chosen:
        place = out / "live" / cell.name
        if measured(place, cell) is not None:
            continue
        shutil.rmtree(place, ignore_errors=True)
        argv = [sys.executable, "-m", "bentpipe", "run", str(LAB), "--engine", "live", "--quiet", "--json"]
        argv += [word for setting in cell.settings for word in ("--set", setting)]
        done = subprocess.run([*argv, "--out", str(place)], capture_output=True, text=True, check=False)
        why = [reason for line in done.stdout.splitlines() for reason in json.loads(line)["why"]]
        say(f"live  {cell.name}: {measured(place, cell)} Mbit/s {why or done.stderr.strip()}")


def sim(cell: Cell, out: Path) -> float | None:
    """One run: the path draws nothing."""
    place = out / "sim" / cell.name
    shutil.rmtree(place, ignore_errors=True)
    bentpipe.Lab.load(LAB, set=cell.settings).run(engine="sim", out=place)
    return measured(place, cell)


def measured(place: Path, cell: Cell) -> float | None:
    """Mbit/s of payload that the sender saw acknowledged; None where there is no sound run."""
    try:
        results = bentpipe.Results.open(place)
    except bentpipe.StoreError:
        return None
    sound: list[dict[str, Any]] = [
        run for run in results.records if run["reliable"] and run["status"] == "done"
    ]
    if not sound:
        return None
    sockets = results.of_run(sound[0]["run"], "sockets")
    sender = "client" if cell.program == "curl" else "server"
    sending = sockets.filter((pl.col("host") == sender) & (pl.col("bytes_acked") > 100_000))
    begins = sending["time_s"].min()
    if not isinstance(begins, float):
        return None
    first_s, last_s = cell.seconds
    during = sending.filter(pl.col("time_s").is_between(begins + first_s, begins + last_s)).sort("time_s")
    if during.height < 2:
        return None
    acked, times = during["bytes_acked"], during["time_s"]
    return float((acked[-1] - acked[0]) * 8 / (times[-1] - times[0]) / 1e6)
