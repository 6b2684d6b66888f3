"""What every engine offers: a point goes in, a finished run's record comes out.

An engine refuses by name what it cannot do (`check`), before anything is started. What goes wrong inside a
run is not an exception: the run ends, keeps what it measured, and says in its record what failed and why.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl

from bentpipe.lab.point import Point
from bentpipe.lab.spec import RunSpec
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.record import Record


class Progress(Protocol):
    """Told the seconds of the run's expected length that are over, and how far the run is, in words."""

    def __call__(self, seconds: float, detail: str = "", /) -> None: ...


@dataclass(frozen=True)
class EngineOptions:
    """What a user may ask of a run beside the lab itself. It changes what is kept, or how closely `live`
    follows the model."""

    sample_interval_ns: int = 100_000_000
    """Between two samples of every socket."""
    bin_ns: int = 100_000_000
    """Length of a bin of the `link` table."""
    allow_exec: bool = False
    """Whether a lab may run commands of its own (`exec`)."""
    keep_awake: bool = True
    """Whether `live` keeps idle processors from sleeping, because they wake late."""
    watched: bool = False
    """Whether the bins of the pipes are written to raw/link.csv of the unfinished run's folder while it runs,
    for whoever watches it. `live` always does so."""
    pcap: tuple[str, ...] = ()
    """Hosts (client, near, server) whose end of the path is captured to a pcapng file in the run's folder."""


@dataclass
class WorkloadResult:
    """One workload's part of a run: its entry in the record and its rows in the tables."""

    entry: dict[str, Any]
    flows: list[dict[str, Any]] | pl.DataFrame = field(default_factory=list)
    pings: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    ports: dict[int, str | None] = field(default_factory=dict)
    """Of its own that its servers listen at, and the role of connections there that belong to no flow. None:
    not known."""
    doubts: list[str] = field(default_factory=list)
    """Why its figures are not to be relied on, though nothing failed."""

    @property
    def why(self) -> str | None:
        """What went wrong; None: nothing."""
        return self.entry.get("why")


class Engine(Protocol):
    name: str
    beside_others: bool
    """Whether several runs may go on at once without changing each other's results."""

    def check(self, spec: RunSpec) -> None:
        """Raise EngineError for what this engine cannot do."""

    def check_machine(self, specs: Iterable[RunSpec]) -> None:
        """Raise EngineError for what these runs need and this machine lacks: all of it in one message."""

    def length_s(self, spec: RunSpec) -> float:
        """Seconds that a run is expected to take, for the bar's time left."""

    def run(self, point: Point, folder: RunFolder, on_progress: Progress) -> Record:
        """Run one point, leave its tables in `folder`, finish it and return its record (run.json)."""
