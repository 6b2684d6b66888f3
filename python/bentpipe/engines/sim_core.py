"""The simulator itself (`bentpipe._core`): a specification goes in, what came out is returned as values.

It knows neither labs nor tables, so that `calc` starts without them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.errors import EngineError, EngineFaultError

if TYPE_CHECKING:
    from pathlib import Path


def computed(
    called: str,
    spec: Mapping[str, Any],
    names: Sequence[str],
    question: Mapping[str, Any],
    *,
    into: Path | None = None,
    at: Callable[[float], None] = lambda _run_s: None,
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The outcome (crates/sim/src/record/results.rs), and the tables as Parquet if they do not go `into` a
    folder.

    Args:
        called: what is simulated, for the message on a fault.
        spec: `SimSpec` (crates/sim/src/simulation.rs).
        names: of the workloads, in the order of `spec`.
        question: what the figures of queues and flows need to know.
        at: is told how far the run is, in its own seconds.

    Raises EngineError.
    """
    try:
        text, tables = _core.sim_run(json.dumps(spec), list(names), json.dumps(question), into, at)
    except ValueError as error:
        raise EngineError(str(error), what="lab") from error
    except RuntimeError as error:
        raise EngineFaultError(
            f"the simulator broke off {called} by a fault of its own: {error}. "
            "The lab and this message are what a report of the fault needs",
            what="engine",
        ) from error
    return json.loads(text), dict(tables)
