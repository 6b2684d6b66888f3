from collections.abc import Callable, Sequence
from os import PathLike

def sim_run(
    spec_json: str,
    names: Sequence[str],
    question_json: str,
    folder: str | PathLike[str] | None = None,
    on_progress: Callable[[float], object] | None = None,
) -> tuple[str, list[tuple[str, bytes]]]:
    """Run a simulation and return what it amounted to, as JSON (`Outcome`, crates/sim/src/record/outcome.rs),
    and its tables as Parquet, by their names.

    `spec_json` is a `SimSpec` (crates/sim/src/simulation.rs), `names` are its workloads' names,
    `question_json` is a `Question` (crates/sim/src/record/mod.rs). With a `folder`, which exists, the tables
    and the captures asked for are written there as they come, and not returned.
    The GIL is released. Every few ten milliseconds of CPU signals are looked at and `on_progress` is told the
    run's seconds; what either raises ends the run and is raised here. Raises `ValueError` for what cannot be
    run, `OSError` where a file cannot be written, `RuntimeError` where the simulator itself fails.
    """
