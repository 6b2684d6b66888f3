"""One run after another, in this process."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bentpipe.sweep.executors.base import Outcomes, Task, Work
from bentpipe.sweep.watching import Watcher


@dataclass(frozen=True)
class OneByOne:
    work: Work
    scratch: Path | None
    at_once: int = 1

    def outcomes(self, tasks: Iterable[Task], watcher: Watcher) -> Outcomes:
        for task in tasks:
            watcher.run_begins(task.name, task.length_s)
            yield task, self.work.attempt(task, self.scratch, partial(watcher.run_is_at, task.name))
