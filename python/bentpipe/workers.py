"""Several tasks at once, each in one of a few processes; results come in the tasks' order.

The standard pools are made to finish what was begun. Here an interruption, an error or a worker's death ends
all at once: leaving the generator ends the workers, and a worker whose parent is gone finds its pipe closed.
Processes are fresh ones: a fork would inherit the data frames' threads as locks that nobody holds.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any


class WorkerDiedError(Exception):
    """A worker ended without an answer."""


def in_order(do: Callable[[Any], Any], tasks: Sequence[Any], jobs: int) -> Iterator[Any]:
    """`do(task)` for each task, `jobs` at a time. What it raises is raised here. All must be picklable."""
    context = multiprocessing.get_context("spawn")
    begun, next_out = 0, 0
    done: dict[int, Any] = {}
    pipes: list[Connection] = []
    workers = []
    try:
        for _ in range(min(jobs, len(tasks))):
            ours, theirs = context.Pipe()
            worker = context.Process(target=_serve, args=(theirs, do), daemon=True)
            worker.start()
            workers.append(worker)
            theirs.close()
            pipes.append(ours)
            ours.send((begun, tasks[begun]))
            begun += 1
        while next_out < len(tasks):
            for pipe in wait(pipes):
                assert isinstance(pipe, Connection)
                number, result, error = _answer(pipe)
                if error is not None:
                    raise error
                done[number] = result
                if begun < len(tasks):
                    pipe.send((begun, tasks[begun]))
                    begun += 1
            while next_out in done:
                yield done.pop(next_out)
                next_out += 1
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join()


def _answer(pipe: Connection) -> tuple[int, Any, BaseException | None]:
    try:
        number, result, error = pipe.recv()
    except (EOFError, OSError) as died:
        raise WorkerDiedError("a process that ran a point died") from died
    return number, result, error


def _serve(pipe: Connection, do: Callable[[Any], Any]) -> None:
    """In the worker. Ctrl-C reaches the whole group of processes; the parent ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        while True:
            number, task = pipe.recv()
            try:
                result = do(task)
            except Exception as error:
                pipe.send((number, None, error))
            else:
                pipe.send((number, result, None))
