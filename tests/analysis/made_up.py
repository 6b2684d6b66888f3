"""Sweeps made up in memory: what a comparison reads of them. FIXTURE: nothing here was measured."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

Record = dict[str, Any]


def run(
    goodput: float | None = 10.0,
    *,
    variant: str = "as is",
    seed: int = 1,
    point: Mapping[str, Any] | None = None,
    name: str = "download",
    **more: Any,
) -> Record:
    entry = {"kind": "bulk", "direction": "down", "goodput_mbit_s": goodput, "retransmits": 0, "bytes": 10**6}
    entry |= more.pop("entry", {})
    record = {
        "variant": variant,
        "seed": seed,
        "point": dict(point or {}),
        "status": "done",
        "reliable": True,
    }
    return record | {"workloads": {name: entry}, "pipes": {}, "why": []} | more


def sweep(runs: Iterable[Record], folder: str = "runs/it") -> Any:
    """What `Results` is to a comparison."""
    return SimpleNamespace(folder=Path(folder), records=list(runs))


def tried(
    ours: Callable[[int], float],
    theirs: Callable[[int], float] = lambda _seed: 10.0,
    seeds: int = 5,
    **more: Any,
) -> list[Record]:
    """`as is` and `tuned`, their goodput by seed."""
    return [
        run(figure(seed), variant=variant, seed=seed, **more)
        for variant, figure in (("as is", theirs), ("tuned", ours))
        for seed in range(1, seeds + 1)
    ]


def failed(variant: str, seed: int, why: str = "The engine died.") -> Record:
    return run(variant=variant, seed=seed, status="failed", reliable=False, why=[why], workloads={})
