"""The interface of every executor, and its input."""

import traceback
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bentpipe import engines
from bentpipe.engines.base import EngineOptions, Progress
from bentpipe.errors import EngineError, EngineFaultError, StoreError
from bentpipe.lab.point import Point
from bentpipe.runs.carried import carry, removed
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.place import Place
from bentpipe.runs.record import Record
from bentpipe.sweep.watching import Watcher

RETRIES = 2
"""How often a run is begun anew whose process died: the cause may have been another's."""


@dataclass(frozen=True)
class Task:
    """One run to do."""

    name: str
    point: Point
    length_s: float
    """What it is expected to take."""


@dataclass(frozen=True)
class TaskOutcome:
    """How a task ended: with a run, whose record this is; or with the error that left none."""

    record: Record | None = None
    error: Exception | None = None
    trace: str = ""
    """Where a fault was raised, for the developer."""


@dataclass(frozen=True)
class Work:
    """What the runs of a sweep have in common."""

    engine: str
    options: EngineOptions | None
    destination: str
    """The sweep's folder, a path or a URL."""
    replaces: bool = False
    """Whether runs take the place of those that are there."""

    def attempt(
        self, task: Task, scratch: Path | None, on_progress: Progress = lambda *_how_far: None
    ) -> TaskOutcome:
        """Do a run and keep it. With a `scratch` it is made there and carried to its destination when whole;
        without, the destination is a folder of this machine, and it is made in that."""

        def made() -> Record:
            record = self.do(task, scratch or Path(self.destination), on_progress)
            if scratch:
                with removed(scratch / task.name) as run:
                    carry(run, Place.of(self.destination) / task.name)
            return record

        return tried(made)

    def do(self, task: Task, folder: Path, on_progress: Progress) -> Record:
        """Do a run in a folder of this machine, and return its record."""
        called = str(Place.of(self.destination) / task.name)
        staging = RunFolder.create(folder, task.name, called=called, replaces=self.replaces)
        try:
            return engines.create(self.engine, self.options).run(task.point, staging, on_progress)
        except BaseException:
            staging.abandon()
            raise


def tried(made: Callable[[], Record]) -> TaskOutcome:
    """The outcome of a run. An unexpected exception is a fault of the engine and does not end the sweep."""
    try:
        return TaskOutcome(record=made())
    except EngineFaultError as error:
        return TaskOutcome(error=error, trace=traceback.format_exc())
    except (EngineError, StoreError, OSError) as error:
        return TaskOutcome(error=error)
    except Exception as error:
        fault = EngineFaultError(f"{type(error).__name__}: {error}")
        return TaskOutcome(error=fault, trace=traceback.format_exc())


Outcomes = Generator[tuple[Task, TaskOutcome], None, None]


class Executor(Protocol):
    @property
    def at_once(self) -> int:
        """How many runs go on beside each other."""

    def outcomes(self, tasks: Iterable[Task], watcher: Watcher) -> Outcomes:
        """Each task's outcome, as it ends. Tasks are taken as they are needed. Closing it ends what
        goes on, and leaves nothing of it."""
