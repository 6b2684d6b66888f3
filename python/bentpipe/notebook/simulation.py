"""One run of a lab in virtual time and in memory, without a folder."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bentpipe.engines.base import EngineOptions
from bentpipe.engines.sim import SimEngine, simulated
from bentpipe.errors import LabError
from bentpipe.lab.grid.meaning import point_meaning
from bentpipe.lab.load import Lab, checked_seeds
from bentpipe.lab.models.lab import AS_IS
from bentpipe.lab.point import Point
from bentpipe.runs.run import Run

_NS = 1e9
_LEAST_SAMPLE_S, _MOST_SAMPLE_S = 0.001, 1e6


def simulate(
    the_lab: Lab | str | Path,
    variant: str | None = None,
    seed: int | None = None,
    *,
    point: Mapping[str, Any] | None = None,
    sample_s: float = 0.1,
    progress: Callable[[float], object] | None = None,
) -> Run:
    """Run one point of a lab in `sim`, in memory, and return it.

    Args:
        the_lab: a lab, a lab file, or the name of a shipped lab.
        variant: which of the lab's; the plain lab without it.
        seed: instead of the lab's.
        point: values of swept keys, as the lab has them. Needed where the lab sweeps over several.
        sample_s: time between two samples of every socket, 0.001 s or more.
        progress: is told the share of the run that is done, some fifty times per second of computing.

    What `progress` raises ends the run within some 20 ms and is raised here, as is KeyboardInterrupt; nothing
    is left of the run.

    Raises:
        LabError: for anything that is wrong with the lab, or if the arguments leave none or several points.
        EngineError: for what the simulator cannot do.
    """
    whole = the_lab if isinstance(the_lab, Lab) else Lab.load(the_lab)
    chosen = _chosen(whole, AS_IS if variant is None else variant, dict(point or {}))
    if seed is not None:
        chosen = chosen.with_seed(*checked_seeds([seed]))
    if not _LEAST_SAMPLE_S <= sample_s <= _MOST_SAMPLE_S:
        expected = f"expected seconds from {_LEAST_SAMPLE_S:g} to {_MOST_SAMPLE_S:g}"
        raise LabError("simulate", "sample_s", str(sample_s), expected)
    engine = SimEngine()
    engine.check(chosen.spec)

    def tell(seconds: float, _detail: str = "", /) -> None:
        if progress is not None:
            progress(seconds)

    options = EngineOptions(sample_interval_ns=round(sample_s * _NS))
    record, tables = simulated(chosen, options, tell, into=None, length_s=1.0)
    return Run(record, tables)


def _chosen(whole: Lab, variant: str, wanted: Mapping[str, Any]) -> Point:
    """The first run of the one cell that is meant."""
    if variant not in whole.variants:
        expected = f"expected one of {', '.join(whole.variants)}"
        raise LabError(whole.where, "variant", repr(variant), expected)
    cells = [cell.first for cell in whole.cells() if cell.first.variant == variant]
    meant = set(point_meaning(wanted))
    found = [each for each in cells if meant <= set(point_meaning(each.point))]
    if len(found) == 1:
        return found[0]
    keys = _swept(cells)
    if not found:
        raise LabError(whole.where, "point", str(dict(wanted)), f"expected values that are swept: {keys}")
    raise LabError(whole.where, "point", f"{len(found)} points", f"expected values that leave one: {keys}")


def _swept(cells: Sequence[Point]) -> str:
    """Each swept key with its values."""
    values: dict[str, list[str]] = {}
    for cell in cells:
        for key, value in cell.point.items():
            said = values.setdefault(key, [])
            if repr(value) not in said:
                said.append(repr(value))
    return "; ".join(f"{key} = {', '.join(said)}" for key, said in values.items()) or "none"
