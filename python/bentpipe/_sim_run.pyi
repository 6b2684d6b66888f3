from collections.abc import Callable, Sequence
from os import PathLike

def sim_run(
    spec_json: str,
    names: Sequence[str],
    folder: str | PathLike[str],
    on_progress: Callable[[float], object] | None = None,
) -> str:
    """Run a simulation and return what it amounted to, as JSON (`Outcome`, crates/simrun/src/outcome.rs).

    `spec_json` is a `SimSpec` (crates/sim/src/simulation.rs), `names` are its workloads' names, and `folder`,
    which exists, gets link.parquet, sockets.parquet, flows.parquet, pings.parquet and the captures asked
    for, as they come.
    The GIL is released. Every few ten milliseconds of CPU signals are looked at and `on_progress` is told the
    run's seconds; what either raises ends the run and is raised here. Raises `ValueError` for what cannot be
    run, `OSError` where a file cannot be written, `RuntimeError` where the simulator itself fails.
    """
