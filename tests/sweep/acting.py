"""Work for the processes of a sweep that does what a task's name says.

A process loads this file, and not the tests: pytest takes longer to load than the work.
"""

import os
import signal
import time
from pathlib import Path
from typing import Any

from bentpipe.sweep.executors.base import Task, TaskOutcome, Work
from waiting import wait_for


class Acting(Work):
    """Each attempt leaves a file in the folder that is its destination."""

    def attempt(self, task: Task, scratch: Path | None, on_progress: Any = None) -> TaskOutcome:
        begun = Path(self.destination) / f"{task.name}.{os.getpid()}"
        begun.touch()
        if task.name == "dies" or (task.name == "dies once" and len(begins(begun.parent, task.name)) == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if task.name == "lasts":
            time.sleep(1000)
        if task.name.startswith("once pressed"):
            assert wait_for((begun.parent / "pressed").exists)
        return TaskOutcome(record={"name": task.name, "scratch": scratch, "progress": on_progress})


def begins(folder: Path, name: str) -> list[str]:
    """The ends of the names of an attempt's files: a dot and the number of the process."""
    return [path.suffix for path in folder.glob(f"{name}.*")]


class Dying(Work):
    """A run is an empty record, or the end of its process."""

    def do(self, task: Task, folder: Path, on_progress: Any) -> dict[str, Any]:
        if task.name == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        place = folder / task.name
        place.mkdir(parents=True)
        (place / "run.json").write_text("{}")
        return {"name": task.name, "told": on_progress is not None}
