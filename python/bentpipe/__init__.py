"""bentpipe: a laboratory for TCP over long paths.

`Lab.load(path)` reads a lab file, `Lab(path={...}, workload=[...])` is one from Python values, and
`lab.run()` runs it. `Results` holds what came out, as data frames, comparisons and charts. `simulate(lab)` is
one run in memory. `calc(rate, rtt)` says what a path allows. Every error for the user is a `BentpipeError`.

The names are loaded when first used, since the live engine's host process may load nothing that starts a
thread.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe.calculator.calculation import calc as calc
    from bentpipe.errors import BentpipeError as BentpipeError
    from bentpipe.errors import ComparisonError as ComparisonError
    from bentpipe.errors import EngineError as EngineError
    from bentpipe.errors import ExecutorError as ExecutorError
    from bentpipe.errors import LabError as LabError
    from bentpipe.errors import MissingExtraError as MissingExtraError
    from bentpipe.errors import QueryError as QueryError
    from bentpipe.errors import StoreError as StoreError
    from bentpipe.notebook.lab import Lab as Lab
    from bentpipe.notebook.results import Results as Results
    from bentpipe.notebook.simulation import simulate as simulate
    from bentpipe.runs.record import Record as Record
    from bentpipe.runs.run import Run as Run

_HOMES = {
    "BentpipeError": "bentpipe.errors",
    "ComparisonError": "bentpipe.errors",
    "EngineError": "bentpipe.errors",
    "ExecutorError": "bentpipe.errors",
    "Lab": "bentpipe.notebook.lab",
    "LabError": "bentpipe.errors",
    "MissingExtraError": "bentpipe.errors",
    "QueryError": "bentpipe.errors",
    "Record": "bentpipe.runs.record",
    "Results": "bentpipe.notebook.results",
    "Run": "bentpipe.runs.run",
    "StoreError": "bentpipe.errors",
    "calc": "bentpipe.calculator.calculation",
    "simulate": "bentpipe.notebook.simulation",
}

__all__ = [
    "BentpipeError",
    "ComparisonError",
    "EngineError",
    "ExecutorError",
    "Lab",
    "LabError",
    "MissingExtraError",
    "QueryError",
    "Record",
    "Results",
    "Run",
    "StoreError",
    "calc",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("bentpipe._core").__version__
    if name not in _HOMES:
        raise AttributeError(f"module 'bentpipe' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
