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
    from bentpipe.engines.base import EngineError as EngineError
    from bentpipe.errors import BentpipeError as BentpipeError
    from bentpipe.executors.errors import ExecutorError as ExecutorError
    from bentpipe.lab import LabError as LabError
    from bentpipe.notebook.results import Results as Results
    from bentpipe.results import ComparisonError as ComparisonError
    from bentpipe.results import StoreError as StoreError
    from bentpipe.results.query import QueryError as QueryError
    from bentpipe.results.run import Run as Run
    from bentpipe.results.run_record import Record as Record
    from bentpipe.run import Lab as Lab
    from bentpipe.simulation import simulate as simulate

_HOMES = {
    "BentpipeError": "bentpipe.errors",
    "ComparisonError": "bentpipe.results",
    "EngineError": "bentpipe.engines.base",
    "ExecutorError": "bentpipe.executors.errors",
    "Lab": "bentpipe.run",
    "LabError": "bentpipe.lab",
    "QueryError": "bentpipe.results.query",
    "Record": "bentpipe.results.run_record",
    "Results": "bentpipe.notebook.results",
    "Run": "bentpipe.results.run",
    "StoreError": "bentpipe.results",
    "calc": "bentpipe.calculator.calculation",
    "simulate": "bentpipe.simulation",
}

__all__ = [
    "BentpipeError",
    "ComparisonError",
    "EngineError",
    "ExecutorError",
    "Lab",
    "LabError",
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
