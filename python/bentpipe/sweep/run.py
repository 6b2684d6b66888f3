"""Runs the points of a lab on an engine into a folder of runs.

Here is what a sweep is: which runs it has, which of them are there already, what becomes of one that failed.
Where and how many at once they are done is the executors' business, whose folder it is folder.py's.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from bentpipe import engines, lab
from bentpipe.engines import lab_commands
from bentpipe.engines.base import Engine, EngineOptions
from bentpipe.engines.lab_commands import LabCommand
from bentpipe.errors import EngineError, EngineFaultError, StoreError
from bentpipe.lab import AS_IS, Point, unreached, unused
from bentpipe.lab.spec import RunSpec
from bentpipe.runs.index import Runs, refresh
from bentpipe.runs.place import Place
from bentpipe.runs.record import Record
from bentpipe.runs.records import read_record
from bentpipe.runs.store import Results
from bentpipe.sweep.executors.base import Task, TaskOutcome, Work
from bentpipe.sweep.executors.choice import Where, chosen
from bentpipe.sweep.failed_run import keep_failed
from bentpipe.sweep.folder import Claim, claimed, default_folder, identity, named
from bentpipe.sweep.watching import Quiet, Watcher

Again = Literal["failed", "unreliable"]
_FAILED_NAMED = 20
_HERE = Where()
_REFRESH_S = 60.0
_REFRESH_SHARE = 0.02
"""Of the sweep's time."""


@dataclass
class Tally:
    """What became of a sweep's runs, those that were there before among them."""

    done: int = 0
    unreliable: int = 0
    failed: int = 0
    runs: int = 0
    """Of the sweep; 0 before it is known."""
    folder: str = ""
    first_failed: list[tuple[str, str]] = field(default_factory=list)
    """The names of the first ones that failed, and why."""

    def count(self, name: str, record: Mapping[str, Any]) -> None:
        if record["status"] == "failed":
            self.failed += 1
            if len(self.first_failed) < _FAILED_NAMED:
                self.first_failed.append((name, "; ".join(each.removesuffix(".") for each in record["why"])))
        elif record["reliable"]:
            self.done += 1
        else:
            self.unreliable += 1


def execute(
    the_lab: lab.Lab,
    *,
    engine: engines.Name = engines.DEFAULT,
    out: str | Path | None = None,
    where: Where = _HERE,
    again: Again | None = None,
    options: EngineOptions | None = None,
    watcher: Watcher | None = None,
    tally: Tally | None = None,
    on_record: Callable[[Mapping[str, Any]], None] | None = None,
    on_left_out: Callable[[str, str], None] = lambda _variant, _why: None,
    on_warning: Callable[[str], None] = lambda _words: None,
    allows: Callable[[Sequence[LabCommand]], bool] = lambda _commands: False,
) -> Results:
    """Run what of the lab is not in `out` yet. With `again`: only what is there and failed or is unreliable.

    `on_record` is given every run's record, of those there already first, of the others as they end;
    `on_left_out` each variant that the engine cannot run, and why; `on_warning`, before the first run, what
    of the lab no run will meet; `allows` is asked whether the lab may run these commands, unless the options
    or the lab's coming with bentpipe say so. `tally` counts what became of all.
    """
    watcher, tally = watcher or Quiet(), tally or Tally()
    worker = engines.create(engine, options)
    left_out = _left_out(the_lab, worker)
    for variant, why in left_out.items():
        on_left_out(variant, why)

    def cells() -> Iterator[list[Point]]:
        return (cell for cell in the_lab.cells() if cell[0].variant not in left_out)

    own = identity(the_lab, cells(), engine) | {"left_out": left_out}
    place = Place.of(out if out is not None else default_folder(own, (name for name, _ in named(cells()))))
    with claimed(place, own) as claim, ExitStack() as stack:
        runs, index = _Runs(claim, again), _Index(place)
        done = 0
        for there in runs.settled(cells(), whole=on_record is not None):
            done += 1
            tally.count(there["run"], there)
            if on_record:
                on_record(there)
        left = _Left()
        specs = left.counted(runs.tasks(cells(), worker))
        if not where.cluster:  # there the workers look at their own machines
            worker.check_machine(specs)
        for _ in specs:
            pass
        if not left.runs and again:
            watcher.say(f"No run in {place} is {again}.")
        for warning in (unreached.warning, unused.warning):
            if left.runs and (words := warning(cells())):
                on_warning(words)
        if left.runs:
            options = _with_commands_allowed(options, cells(), the_lab, allows)
        work = Work(engine, options, str(place), replaces=again is not None)
        tally.runs, tally.folder = done + left.runs, str(place)
        executor = stack.enter_context(chosen(where, work, worker, claim, runs=left.runs, watcher=watcher))
        watcher.sweep_begins(done + left.runs, done, left.length_s, executor.at_once)
        outcomes = stack.enter_context(closing(executor.outcomes(runs.tasks(cells(), worker), watcher)))
        for task, outcome in outcomes:
            record = _kept(outcome, task, work, sound=tally.done + tally.unreliable > 0)
            watcher.run_ends(task.name, record)
            tally.count(task.name, record)
            if on_record:
                on_record(record)
            index.now_and_then()
        index.refresh()
    return Results.open(place)


def _with_commands_allowed(
    options: EngineOptions | None,
    cells: Iterable[list[Point]],
    the_lab: lab.Lab,
    allows: Callable[[Sequence[LabCommand]], bool],
) -> EngineOptions | None:
    """Raises EngineError where the lab may not run its commands."""
    options = options or EngineOptions()
    commands = lab_commands.of(cell[0].spec for cell in cells)
    if not commands or options.allow_exec:
        return options
    if not lab_commands.comes_with_bentpipe(the_lab) and not allows(commands):
        lab_commands.refuse(commands)
    return replace(options, allow_exec=True)


def _left_out(the_lab: lab.Lab, worker: Engine) -> dict[str, str]:
    """The variants that this engine, or this machine's kernel, has no means for, and why.

    A sweep does not end because one of its variants needs what is not here. But what was asked for by name is
    refused, and so is a plain lab that cannot be run. Raises EngineError.
    """
    left_out: dict[str, str] = {}
    for point, *_ in the_lab.cells():
        if point.variant in left_out:
            continue
        try:
            worker.check(point.spec)
        except EngineError as error:
            if the_lab.asked or point.variant == AS_IS:
                raise
            left_out[point.variant] = str(error.args[0])
    return left_out


class _Runs:
    """Which runs of a sweep are to be done, and which stay as they are."""

    def __init__(self, claim: Claim, again: Again | None) -> None:
        self._claim = claim
        self._again = again
        self._anew: set[str] = set()
        if again and not claim.there:
            raise StoreError(f"{claim.place} holds no runs: there is nothing to run again")

    def settled(self, cells: Iterable[list[Point]], *, whole: bool) -> Iterator[Mapping[str, Any]]:
        """The records of the runs that are there and stay, or if not `whole` how they ended."""
        if not self._claim.there:
            return
        rows = {} if whole else _how_they_ended(self._claim.place)
        for name, _ in named(cells):
            if name in self._claim.there:
                record = read_record(self._claim.place / name) if whole else rows[name]
                if self._again and _is(record, self._again):
                    self._anew.add(name)
                else:
                    yield record

    def tasks(self, cells: Iterable[list[Point]], worker: Engine) -> Iterator[Task]:
        """What is to be done, once it is known what is settled."""
        spec, length_s = None, 0.0
        for name, point in named(cells):
            if name in self._anew if self._again else name not in self._claim.there:
                if point.spec is not spec:
                    spec, length_s = point.spec, worker.length_s(point.spec)
                yield Task(name, point, length_s)


@dataclass
class _Left:
    """What of a sweep is still to be done."""

    runs: int = 0
    length_s: float = 0.0

    def counted(self, tasks: Iterable[Task]) -> Iterator[RunSpec]:
        """Their specifications; they are counted as they pass."""
        for task in tasks:
            self.runs += 1
            self.length_s += task.length_s
            yield task.point.spec


def _how_they_ended(place: Place) -> dict[str, dict[str, Any]]:
    table = Runs(place).table().select("run", "status", "reliable", "why")
    return {row["run"]: row for row in table.iter_rows(named=True)}


class _Index:
    """The folder's table of runs, kept up to date at little cost: it is made anew each time."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._next_s = time.monotonic() + _REFRESH_S

    def now_and_then(self) -> None:
        if time.monotonic() > self._next_s:
            self.refresh()

    def refresh(self) -> None:
        begun_s = time.monotonic()
        refresh(self._place)
        ended_s = time.monotonic()
        self._next_s = ended_s + max(_REFRESH_S, (ended_s - begun_s) / _REFRESH_SHARE)


def _is(record: Mapping[str, Any], again: Again) -> bool:
    failed = record["status"] == "failed"
    return failed if again == "failed" else not failed and not record["reliable"]


def _kept(outcome: TaskOutcome, task: Task, work: Work, *, sound: bool) -> Record:
    """The record of the run that came out, or of the failed one that is kept in its stead.

    As long as no run was `sound`, what an engine refuses in a run is the request's or the machine's fault: it
    is raised, as is what went wrong with where runs are kept.
    """
    if outcome.record is not None:
        return outcome.record
    error = outcome.error
    assert error is not None
    refused = isinstance(error, EngineError) and not isinstance(error, EngineFaultError)
    if not isinstance(error, EngineError) or (refused and not sound):
        raise error
    return keep_failed(task, work, str(error.args[0]), outcome.trace)
