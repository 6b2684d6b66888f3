"""How far `sim` is from the real runs of labelled labs: `live.py --simulated`.

Each lab is simulated as it ran, with the same seed. Where the path draws losses or jitter, engines of one
seed draw the same only until their packets leave at other times, so those kinds differ by chance too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from planted import Planted
from records import Kept, kept


@dataclass(frozen=True)
class Beside:
    kind: str
    live_mbit_s: float
    sim_mbit_s: float

    @property
    def error(self) -> float:
        return self.sim_mbit_s / self.live_mbit_s - 1


def beside(planted: Planted, run: Kept) -> Beside | None:
    """None: nothing was carried."""
    live, sim = (_goodput(each) for each in (run, kept(planted.lab)))
    return Beside(planted.kind, live, sim) if live > 0 else None


def _goodput(run: Kept) -> float:
    (work,) = run.record["workloads"].values()
    return float(work["goodput_mbit_s"] or 0.0)


def table(found: Sequence[Beside]) -> list[str]:
    lines = [
        "| planted | runs | error of sim's goodput, median | 90th percentile | worst | bias |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    groups = {"all": list(found)} if found else {}
    for each in found:
        groups.setdefault(each.kind, []).append(each)
    for name, own in groups.items():
        errors = np.abs([each.error for each in own])
        worst = max(own, key=lambda each: abs(each.error))
        lines.append(
            f"| {name} | {len(own)} | {np.median(errors):.1%} | {np.quantile(errors, 0.9):.1%} | "
            f"{worst.error:+.0%} | {median(each.error for each in own):+.1%} |"
        )
    return lines
