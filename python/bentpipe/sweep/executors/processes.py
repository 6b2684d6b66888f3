"""Several runs at once, each in one of a few processes of this machine.

The standard pools are made to finish what was begun, and break when a process dies. Here leaving the iterator
ends all at once; the run of a process that died is begun anew in another, and after a few times is a failed
one.

Nothing of a sweep goes on without the process that began it: a worker ends when that one is gone. Until then
it holds the folder's lock too, so that nobody else writes into a folder in which a worker still does.
"""

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from bentpipe.errors import EngineFaultError, ExecutorError
from bentpipe.fresh_process import FreshContext, ignore_ctrl_c
from bentpipe.sweep.executors.base import RETRIES, Outcomes, Task, TaskOutcome, Work
from bentpipe.sweep.watching import Watcher

_READY = None
"""A worker's first answer."""


@dataclass
class _Worker:
    process: BaseProcess
    task: Task | None = None
    """None: it has not said yet that it is ready."""


@dataclass(frozen=True)
class Processes:
    work: Work
    scratch: Path | None
    at_once: int
    lock: int | None = None
    """The descriptor of the folder's lock."""

    def outcomes(self, tasks: Iterable[Task], watcher: Watcher) -> Outcomes:
        waiting = _Waiting(tasks)
        workers: dict[Connection, _Worker] = {}
        try:
            while True:
                beginning = sum(worker.task is None for worker in workers.values())
                while len(workers) < self.at_once and waiting.has(beginning + 1):
                    pipe, process = self._begin()
                    workers[pipe] = _Worker(process)
                    beginning += 1
                if not workers:
                    return
                ready = wait(list(workers))
                for pipe in [each for each in workers if each in ready]:
                    worker = workers[pipe]
                    done = worker.task
                    try:
                        outcome = pipe.recv()
                    except (EOFError, OSError):
                        del workers[pipe]
                        outcome = waiting.died(worker)
                    else:
                        worker.task = waiting.take()
                        if worker.task is None:
                            del workers[pipe]
                            _end([worker])
                        else:
                            with suppress(OSError):  # if it died meanwhile the pipe says so next
                                pipe.send(worker.task)
                            watcher.run_begins(worker.task.name, worker.task.length_s)
                    if done is not None and outcome is not None:
                        yield done, outcome
        finally:
            _end(workers.values())

    def _begin(self) -> tuple[Connection, BaseProcess]:
        context = FreshContext()
        ours, theirs = context.Pipe()
        arguments = (theirs, self.work, self.scratch, _Passed(self.lock))
        process = context.Process(target=_serve, args=arguments, daemon=True)
        process.start()
        theirs.close()
        return ours, process


class _Waiting:
    """The tasks that have not started. A task whose process died comes first again."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = iter(tasks)
        self._next: deque[Task] = deque()
        self._deaths: Counter[str] = Counter()

    def has(self, count: int) -> bool:
        while len(self._next) < count:
            task = next(self._tasks, None)
            if task is None:
                return False
            self._next.append(task)
        return True

    def take(self) -> Task | None:
        return self._next.popleft() if self.has(1) else None

    def died(self, worker: _Worker) -> TaskOutcome | None:
        """What becomes of a dead worker's task: its outcome, or None where it is begun anew."""
        worker.process.join()
        how = _how(worker.process.exitcode)
        task = worker.task
        if task is None:
            raise ExecutorError(f"a process that should do runs ended before it could begin, {how}")
        self._deaths[task.name] += 1
        if self._deaths[task.name] <= RETRIES:
            self._next.appendleft(task)
            return None
        times = self._deaths.pop(task.name)
        return TaskOutcome(
            error=EngineFaultError(f"the process that did it died {times} times, the last time {how}")
        )


def _how(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        with suppress(ValueError):
            return f"by {signal.Signals(-exitcode).name}"
    return f"with status {exitcode}"


def _end(workers: Iterable[_Worker]) -> None:
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        worker.process.join()


class _Passed:
    """A descriptor that a process being begun inherits."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def __getstate__(self) -> dict[str, Any]:
        return {"_descriptor": None if self._descriptor is None else DupFd(self._descriptor)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        dup = state["_descriptor"]
        self._descriptor = None if dup is None else dup.detach()


def _serve(pipe: Connection, work: Work, scratch: Path | None, lock: _Passed) -> None:
    """In the worker."""
    ignore_ctrl_c()
    threading.Thread(target=_end_with_parent, name="end with the parent", daemon=True).start()
    with suppress(EOFError, OSError):
        pipe.send(_READY)
        while True:
            task = pipe.recv()
            pipe.send(work.attempt(task, scratch))
    del lock


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
