"""The runs of a sweep: all of them, the existing ones, and those left to do."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bentpipe.engines.base import Engine
from bentpipe.errors import EngineError, StoreError
from bentpipe.lab import splits, tunnels, unreached, unused
from bentpipe.lab.load import Lab
from bentpipe.lab.models.lab import AS_IS
from bentpipe.lab.point import CellRuns, Point
from bentpipe.lab.spec import RunSpec
from bentpipe.runs.index import Runs
from bentpipe.runs.place import Place
from bentpipe.runs.record import Ending, Record
from bentpipe.runs.records import read_record
from bentpipe.sweep.executors.base import Task
from bentpipe.sweep.folder import Claim, named

Again = Literal["failed", "unreliable"]


@dataclass(frozen=True)
class Plan:
    """The cells of a lab's grid that an engine can run."""

    cells: Sequence[CellRuns]
    left_out: Mapping[str, str]
    """The variants that it, or this machine's kernel, has no means for, and why."""

    def runs(self) -> Iterator[tuple[str, Point]]:
        """With the names of their folders."""
        return named(self.cells)

    def names(self) -> Iterator[str]:
        return (name for name, _ in self.runs())

    def warnings(self) -> Iterator[str]:
        """On what of the lab no run will meet, and what cannot work as it is meant."""
        for warning in (unreached.warning, unused.warning, tunnels.warning, splits.warning):
            if words := warning(self.cells):
                yield words


def planned(the_lab: Lab, engine: Engine) -> Plan:
    """The cells of a lab that this engine can run. Variants that it cannot run are left out, so that the
    sweep goes on without them. A variant that was asked for by name is refused, as is a plain lab. Raises
    EngineError.
    """
    left_out: dict[str, str] = {}
    for cell in the_lab.cells():
        variant = cell.first.variant
        if variant in left_out:
            continue
        try:
            engine.check(cell.first.spec)
        except EngineError as error:
            if the_lab.asked or variant == AS_IS:
                raise
            left_out[variant] = str(error.args[0])
    return Plan([cell for cell in the_lab.cells() if cell.first.variant not in left_out], left_out)


class Left:
    """What of a plan is left to do in a folder. With `again` that is what is there and ended so.

    Attributes:
        runs, length_s, specs: how many they are, how long they would take one by one, and what their cells
            are in plain numbers; known once all that is settled has been taken.
    """

    def __init__(self, plan: Plan, claim: Claim, engine: Engine, again: Again | None) -> None:
        if again and not claim.there:
            raise StoreError(f"{claim.place} holds no runs: there is nothing to run again")
        self.runs = 0
        self.length_s = 0.0
        self.specs: list[RunSpec] = []
        self._plan = plan
        self._claim = claim
        self._engine = engine
        self._again = again
        self._anew: set[str] = set()
        self._each_s = 0.0

    def settled(self, on_record: Callable[[Record], None] | None = None) -> Iterator[Ending]:
        """How the runs that are there and stay ended. Their records are read only for `on_record`."""
        there = self._claim.there
        rows = {} if on_record or not there else _how_they_ended(self._claim.place)
        for name, point in self._plan.runs():
            if name in there:
                read: Any = read_record(self._claim.place / name) if on_record else None
                record: Record | None = read
                ended = record or rows[name]
                if self._again and _ended_so(ended, self._again):
                    self._anew.add(name)
                else:
                    yield ended
                    if on_record and record:
                        on_record(record)
            if self._is_left(name):
                self._count(point.spec)

    def tasks(self) -> Iterator[Task]:
        """Once it is known what is settled."""
        spec, length_s = None, 0.0
        for name, point in self._plan.runs():
            if self._is_left(name):
                if point.spec is not spec:
                    spec, length_s = point.spec, self._engine.length_s(point.spec)
                yield Task(name, point, length_s)

    def _is_left(self, name: str) -> bool:
        return name in self._anew if self._again else name not in self._claim.there

    def _count(self, spec: RunSpec) -> None:
        if not self.specs or self.specs[-1] is not spec:
            self.specs.append(spec)
            self._each_s = self._engine.length_s(spec)
        self.runs += 1
        self.length_s += self._each_s


def _how_they_ended(place: Place) -> dict[str, Ending]:
    table = Runs(place).table().select("run", "status", "reliable", "why")
    rows: Any = table.iter_rows(named=True)
    return {row["run"]: row for row in rows}


def _ended_so(record: Ending, how: Again) -> bool:
    failed = record["status"] == "failed"
    return failed if how == "failed" else not failed and not record["reliable"]
