"""Workloads of the live engine by kind. A new one is a file here and a line in the registry.

Each is a coroutine that runs one workload of the lab with real programs and returns what it measured. It
never raises for what a program does wrong: that is its result.
"""

from collections.abc import Coroutine, Mapping
from typing import Any, Protocol

from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench
from bentpipe.engines.workloads import bulk, call, channels, exec, http, interactive, ping


class Workload(Protocol):
    """What a module of a workload offers."""

    def run(self, spec: Any, bench: Bench, /) -> Coroutine[Any, Any, WorkloadResult]: ...

    def programs(self, spec: Any, /) -> tuple[str, ...]:
        """The programs that it starts, by the names under which they are found in PATH."""


REGISTRY: Mapping[str, Workload] = {
    "bulk": bulk,
    "call": call,
    "channels": channels,
    "exec": exec,
    "http": http,
    "interactive": interactive,
    "ping": ping,
}
