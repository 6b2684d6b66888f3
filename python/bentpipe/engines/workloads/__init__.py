"""Workloads of the live engine by kind. A new one is a file here and a line in the registry.

Each is a coroutine that runs one workload of the lab with real programs and returns what it measured. It
never raises for what a program does wrong: that is its result.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench
from bentpipe.engines.workloads import bulk, channels, exec, http, ping

REGISTRY: Mapping[str, Callable[[Any, Bench], Coroutine[Any, Any, WorkloadResult]]] = {
    "bulk": bulk.run,
    "channels": channels.run,
    "exec": exec.run,
    "http": http.run,
    "ping": ping.run,
}
