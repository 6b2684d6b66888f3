"""The runs of a pair of parameters, and how far their means are from the published ones."""

import itertools
import json
import multiprocessing
import statistics
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from bentpipe import _core
from bentpipe.engines.base import EngineOptions
from bentpipe.engines.sim_spec import sim_spec
from bentpipe.lab.load import Lab

LAB = "satellite-baselines"
PUBLISHED_MBIT_S = {"20 channels, 100 kB": 4.5, "50 channels, 100 kB": 9.0, "100 channels, 100 kB": 14.0}
MIN_BYTES = 500


@dataclass(frozen=True)
class Pair:
    shape: float
    max_mb: float

    def size(self) -> str:
        """As the lab file has it."""
        return (
            f'{{ distribution = "bounded-pareto", shape = {self.shape:g}, min = "{MIN_BYTES} B", '
            f'max = "{self.max_mb:g} MB" }}'
        )

    def mean_bytes(self) -> float:
        low, high, a = float(MIN_BYTES), self.max_mb * 1e6, self.shape
        if a == 1:
            a += 1e-9
        kept = 1 - (low / high) ** a
        return a / (1 - a) * low**a * (high ** (1 - a) - low ** (1 - a)) / kept


Task = tuple[Pair, str, int]


def throughput_mbit_s(task: Task) -> float:
    """Mean over the run of all that left the link towards the island."""
    pair, load, seed = task
    changes = [f'load="{load}"', f"seed={seed}", "repeat=1", f"workload.clients.size={pair.size()}"]
    (point,) = Lab.load(LAB, set=changes).points()
    spec = sim_spec(point, EngineOptions()) | {"sample_interval_ns": None}
    names = [work.name for work in point.spec.workloads]
    with tempfile.TemporaryDirectory() as folder:
        outcome: dict[str, Any] = json.loads(_core.sim_run(json.dumps(spec), names, folder))
    assert point.spec.duration_s is not None
    return float(outcome["pipes"]["down"]["delivered_bytes"] * 8e-6 / point.spec.duration_s)


@dataclass(frozen=True)
class Fit:
    pair: Pair
    means_mbit_s: dict[str, list[float]]
    """By load, one for each seed."""

    @property
    def misfit(self) -> float:
        """Root of the mean squared relative error."""
        errors = [
            statistics.fmean(values) / PUBLISHED_MBIT_S[load] - 1
            for load, values in self.means_mbit_s.items()
        ]
        return statistics.fmean(error**2 for error in errors) ** 0.5

    @property
    def chance(self) -> float:
        """The misfit that the seeds' scatter alone would make."""
        variances = [
            statistics.variance(values) / len(values) / PUBLISHED_MBIT_S[load] ** 2
            for load, values in self.means_mbit_s.items()
        ]
        return statistics.fmean(variances) ** 0.5

    def row(self) -> str:
        means = "".join(
            f"{statistics.fmean(values):9.2f} ±{statistics.stdev(values):5.2f}"
            for values in self.means_mbit_s.values()
        )
        return (
            f"{self.pair.shape:6.2f} {self.pair.max_mb:7g} {self.pair.mean_bytes() / 1e3:8.1f}{means}"
            f"{100 * self.misfit:8.1f} {100 * self.chance:7.1f}"
        )


def measured(pairs: Sequence[Pair], seeds: Sequence[int], jobs: int) -> list[Fit]:
    tasks = list(itertools.product(pairs, PUBLISHED_MBIT_S, seeds))
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(throughput_mbit_s, tasks))
    by_pair: dict[Pair, dict[str, list[float]]] = {}
    for (pair, load, _), value in zip(tasks, found, strict=True):
        by_pair.setdefault(pair, {}).setdefault(load, []).append(value)
    return [Fit(pair, means) for pair, means in by_pair.items()]
