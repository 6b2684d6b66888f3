"""Runs the points of a lab on an engine into a folder of runs.

Here is how a sweep goes on, and what becomes of a run that failed. Which runs there are is said in plan.py,
where they are done in executors/, and whose folder it is in folder.py.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from bentpipe import engines
from bentpipe.engines import lab_commands
from bentpipe.engines.base import EngineOptions
from bentpipe.engines.lab_commands import LabCommand
from bentpipe.errors import EngineError, EngineFaultError
from bentpipe.lab.load import Lab
from bentpipe.lab.point import CellRuns
from bentpipe.runs.index import refresh
from bentpipe.runs.place import Place
from bentpipe.runs.record import Ending, Record
from bentpipe.runs.store import Results
from bentpipe.sweep.executors.base import Task, TaskOutcome, Work
from bentpipe.sweep.executors.choice import Where, chosen
from bentpipe.sweep.failed_run import keep_failed
from bentpipe.sweep.folder import claimed, default_folder, identity
from bentpipe.sweep.plan import Again, Left, planned
from bentpipe.sweep.watching import Quiet, Watcher

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

    def count(self, name: str, record: Ending) -> None:
        if record["status"] == "failed":
            self.failed += 1
            if len(self.first_failed) < _FAILED_NAMED:
                self.first_failed.append((name, "; ".join(each.removesuffix(".") for each in record["why"])))
        elif record["reliable"]:
            self.done += 1
        else:
            self.unreliable += 1


def execute(
    the_lab: Lab,
    *,
    engine: engines.Name = engines.DEFAULT,
    out: str | Path | None = None,
    where: Where = _HERE,
    again: Again | None = None,
    options: EngineOptions | None = None,
    watcher: Watcher | None = None,
    tally: Tally | None = None,
    on_record: Callable[[Record], None] | None = None,
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
    plan = planned(the_lab, worker)
    for variant, why in plan.left_out.items():
        on_left_out(variant, why)
    own = identity(the_lab, plan.cells, engine) | {"left_out": dict(plan.left_out)}
    place = Place.of(out if out is not None else default_folder(own, plan.names))
    with claimed(place, own) as claim, ExitStack() as stack:
        left, index = Left(plan, claim, worker, again), _Index(place)
        done = 0
        for there in left.settled(on_record):
            done += 1
            tally.count(there["run"], there)
        if not where.cluster:  # there the workers look at their own machines
            worker.check_machine(left.specs)
        if left.runs:
            for words in plan.warnings():
                on_warning(words)
            options = _with_commands_allowed(options, plan.cells, the_lab, allows)
        elif again:
            watcher.say(f"No run in {place} is {again}.")
        work = Work(engine, options, str(place), replaces=again is not None)
        tally.runs, tally.folder = done + left.runs, str(place)
        executor = stack.enter_context(chosen(where, work, worker, claim, runs=left.runs, watcher=watcher))
        watcher.sweep_begins(done + left.runs, done, left.length_s, executor.at_once)
        outcomes = stack.enter_context(closing(executor.outcomes(left.tasks(), watcher)))
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
    cells: Iterable[CellRuns],
    the_lab: Lab,
    allows: Callable[[Sequence[LabCommand]], bool],
) -> EngineOptions | None:
    """Raises EngineError where the lab may not run its commands."""
    options = options or EngineOptions()
    commands = lab_commands.of(cell.first.spec for cell in cells)
    if not commands or options.allow_exec:
        return options
    if not lab_commands.comes_with_bentpipe(the_lab) and not allows(commands):
        lab_commands.refuse(commands)
    return replace(options, allow_exec=True)


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
