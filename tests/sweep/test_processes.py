"""The executor of several processes: deaths, ends, and the order of outcomes."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from acting import Acting, begins

from bentpipe.errors import EngineFaultError
from bentpipe.sweep.executors.base import Task, TaskOutcome
from bentpipe.sweep.executors.processes import Processes
from bentpipe.sweep.watching import Quiet
from beside import beside
from waiting import wait_for


def tasks(*names: str) -> Iterator[Task]:
    point: Any = None
    return (Task(name, point, 1.0) for name in names)


def outcomes(folder: Path, *names: str, jobs: int = 2) -> dict[str, TaskOutcome]:
    executor = Processes(Acting("sim", None, str(folder)), None, jobs)
    return {task.name: outcome for task, outcome in executor.outcomes(tasks(*names), Quiet())}


def test_every_task_has_one_outcome(tmp_path: Path) -> None:
    names = [f"task {number}" for number in range(20)]
    found = outcomes(tmp_path, *names, jobs=2)
    assert sorted(found) == sorted(names)
    assert all(outcome.record is not None for outcome in found.values())
    assert all(len(begins(tmp_path, name)) == 1 for name in names)


def test_the_run_of_a_process_that_died_is_begun_anew(tmp_path: Path) -> None:
    found = outcomes(tmp_path, "one", "dies once", "two")
    assert all(outcome.record for outcome in found.values())
    assert len(begins(tmp_path, "dies once")) == 2


def test_a_run_that_kills_every_process_fails_and_the_others_go_on(tmp_path: Path) -> None:
    found = outcomes(tmp_path, "one", "dies", "two", "three", jobs=1)
    assert [name for name, outcome in found.items() if outcome.record is None] == ["dies"]
    error = found["dies"].error
    assert isinstance(error, EngineFaultError)
    assert str(error) == "the process that did it died 3 times, the last time by SIGKILL"
    assert len(begins(tmp_path, "dies")) == 3


def test_leaving_ends_the_processes(tmp_path: Path) -> None:
    executor = Processes(Acting("sim", None, str(tmp_path)), None, 2)
    going_on = executor.outcomes(tasks("quick", "lasts", "quick too"), Quiet())
    next(going_on)
    assert wait_for(lambda: bool(begins(tmp_path, "lasts")))
    (pid,) = begins(tmp_path, "lasts")
    going_on.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid[1:]), 0)


def test_a_ctrl_c_while_a_process_loads_does_not_reach_it(tmp_path: Path) -> None:
    def press(over: Event) -> None:
        assert wait_for(lambda: bool(multiprocessing.active_children()) or over.is_set(), every_s=0.001)
        for process in multiprocessing.active_children():
            assert process.pid
            os.kill(process.pid, signal.SIGINT)
        (tmp_path / "pressed").touch()

    names = [f"once pressed {number}" for number in range(3)]
    with beside(press):
        found = outcomes(tmp_path, *names)
    assert sorted(found) == names
    assert all(outcome.record for outcome in found.values())
