"""Runs on a Dask cluster: the address of its scheduler, or `local:4` for one of four workers on this machine.

A worker makes a run in its own scratch folder. To a sweep in a folder of this machine it returns the run's
files, and only this process writes into the folder; to a URL it carries the run itself. Either way a run is
kept once and whole: what a worker had not handed over when it died is done again by another.

Few runs per worker are handed out at a time, so that a sweep's memory does not grow with its length;
very short ones a few together.

The scheduler counts a worker's death against all runs that it had been given. So a run that it gives up on is
done once more with nothing beside it, and has failed only if its workers die then too.
"""

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from bentpipe.errors import EngineError, EngineFaultError, ExecutorError
from bentpipe.runs.carried import unpack
from bentpipe.runs.place import Place
from bentpipe.sweep.executors import cluster_worker
from bentpipe.sweep.executors.base import RETRIES, Outcomes, Task, TaskOutcome, Work
from bentpipe.sweep.watching import Watcher

LOCAL = "local:"
LIVE = "live"
"""The resource that workers offer which may do live runs."""
_CONNECT_S = 10.0
_LOOK_S = 1.0
"""How often the workers are looked at."""
_POLL_S = 0.005
_CLOSE_S = 5.0
_STARTS_AGAIN_S = 60.0
"""A worker of our own that ended is started again within this time, or not at all."""
_HANDED_OUT = 2
"""Batches per thread of the cluster: one being done, one waiting for it."""
_BATCH_S = 0.2
_MOST_IN_BATCH = 8
_MOST_LOCAL = 1000
_LOOPBACK = "127.0.0.1"
_QUIET = logging.CRITICAL
_KILLS = "every worker that did it died, also with nothing beside it"

Batch = tuple[Task, ...]


@contextlib.contextmanager
def joined(address: str, work: Work, *, live: bool, scratch: Path, watcher: Watcher) -> Iterator["Cluster"]:
    """The cluster at an address, or one of this machine's own that ends with this. Raises EngineError where
    it cannot do the work."""
    try:
        import distributed  # noqa: PLC0415 - an extra, and slow to load
    except ImportError as error:
        raise EngineError(
            "--cluster needs Dask, which is not installed here",
            what="cluster",
            remedy="pip install 'bentpipe[cluster]'",
        ) from error
    _quieten()
    with contextlib.ExitStack() as stack:
        if address.startswith(LOCAL):
            workers = _workers_asked(address)
            if live and workers > 1:
                watcher.say("live does one run at a time on a machine: one worker")
                workers = 1
            where = stack.enter_context(_own_cluster(workers, scratch, live=live)).scheduler_address
        else:
            where = address
            _check_answers(where)
        client = distributed.Client(where, timeout=_CONNECT_S, set_as_default=False)
        stack.callback(_close, client)
        yield Cluster(client, address, work, live=live, watcher=watcher)


class Cluster:
    """Work on a cluster that one is connected to."""

    def __init__(self, client: Any, address: str, work: Work, *, live: bool, watcher: Watcher) -> None:
        self._client = client
        self._address = address
        self._work = work
        self._live = live
        self._watcher = watcher
        self._version = own_version()
        self._checked: set[str] = set()
        """Workers that have the same bentpipe."""
        self._slots = 0
        self._waits_since_s: float | None = None
        self._looked_s = 0.0
        self._look()
        if live and self._checked and not self._slots:
            raise EngineError(
                f"--cluster: no worker at {address} offers the resource {LIVE!r}, as live runs need",
                what="cluster",
                remedy=f"dask worker {address} --nthreads 1 --resources {LIVE}=1",
            )

    @property
    def at_once(self) -> int:
        return max(self._slots, 1)

    def outcomes(self, tasks: Iterable[Task], watcher: Watcher) -> Outcomes:
        waiting = _batches(tasks, most=1 if self._live else _MOST_IN_BATCH)
        given_up: deque[Task] = deque()
        handed = _Handed(self._client, watcher)
        next_one = next(waiting, None)
        while next_one or handed or given_up:
            while next_one and not given_up and len(handed) < _HANDED_OUT * self.at_once:
                handed.add(self._submit(next_one), next_one)
                next_one = next(waiting, None)
            alone = bool(given_up) and not handed
            if alone:
                alone_one = (given_up.popleft(),)
                handed.add(self._submit(alone_one), alone_one)
            for batch, answer in self._ended(handed):
                done = self._done(answer)
                if done is None and not alone:
                    given_up.extend(batch)
                elif done is None:
                    yield batch[0], TaskOutcome(error=EngineFaultError(_KILLS))
                else:
                    for task, (outcome, files) in zip(batch, done, strict=True):
                        self._keep(task, files)
                        yield task, outcome

    def _submit(self, batch: Batch) -> Any:
        return self._client.submit(
            cluster_worker.do,
            self._work,
            batch,
            live=self._live,
            version=self._version,
            key=f"bentpipe-{uuid.uuid4().hex}",
            resources={LIVE: 1} if self._live else None,
            pure=False,
        )

    def _ended(self, handed: "_Handed") -> list[tuple[Batch, Any]]:
        """What has ended, at least one; the workers are looked at meanwhile."""
        while True:
            if time.monotonic() > self._looked_s + _LOOK_S:
                self._look()
            handed.show_running(self._slots)
            if ended := handed.ended():
                handed.show_running(self._slots)
                return ended
            time.sleep(_POLL_S)

    def _done(self, answer: Any) -> list[tuple[TaskOutcome, dict[str, bytes]]] | None:
        """What a worker returned. None: the scheduler has given it up, since too many workers died that had
        been given it."""
        from distributed import CancelledError, KilledWorker  # noqa: PLC0415 - as above

        match answer:
            case list():
                return answer
            case (_, KilledWorker(), _):
                return None
            case (_, EngineError() as refused, _):
                raise refused
            case CancelledError() | (_, CancelledError(), _):
                raise self._lost()
            case (_, error, _):
                raise ExecutorError(f"a worker of {self._address} could not take a run: {error}")
        raise self._lost()

    def _keep(self, task: Task, files: dict[str, bytes]) -> None:
        """A run that was handed back; none are where it failed or is kept at a URL."""
        folder = Place.of(self._work.destination).path
        if folder is not None and files:
            unpack(files, folder, task.name, replaces=self._work.replaces)

    def _look(self) -> None:
        """Which workers there are now, and whether new ones have the bentpipe that is here."""
        self._looked_s = time.monotonic()
        try:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            new = sorted(workers.keys() - self._checked)
            versions = (
                self._client.run(metadata.version, "bentpipe", workers=new, on_error="return") if new else {}
            )
        except (OSError, AttributeError, KeyError) as error:
            # A client whose connection is gone has no scheduler; one that has closed itself knows no workers.
            raise self._lost() from error
        for worker, version in versions.items():
            if isinstance(version, metadata.PackageNotFoundError | str):
                found = version if isinstance(version, str) else None
                cluster_worker.check_version(worker, found, self._version)
                self._checked.add(worker)  # one that did not answer is looked at again
        self._checked &= workers.keys()
        slots = sum(
            int(known["resources"].get(LIVE, 0)) if self._live else known["nthreads"]
            for known in workers.values()
        )
        self._slots = slots
        if slots:
            self._waits_since_s = None
        elif self._waits_since_s is None:
            self._waits_since_s = self._looked_s
            what = f" that offers the resource {LIVE!r}" if self._live else ""
            self._watcher.say(f"{self._address} has no worker{what} now; waiting for one")
        if not slots and self._address.startswith(LOCAL) and self._waited_s() >= _STARTS_AGAIN_S:
            raise ExecutorError(
                f"the workers of {self._address} ended and did not start again; what was finished is kept, "
                "and the same command goes on"
            )

    def _waited_s(self) -> float:
        return 0.0 if self._waits_since_s is None else time.monotonic() - self._waits_since_s

    def _lost(self) -> ExecutorError:
        return ExecutorError(
            f"the Dask scheduler at {self._address} is lost; what was finished is kept, "
            "and the same command goes on"
        )


class _Handed:
    """The runs that the cluster has been given."""

    def __init__(self, client: Any, watcher: Watcher) -> None:
        from distributed import as_completed  # noqa: PLC0415 - as above

        self._batches: dict[Any, Batch] = {}
        self._shown: set[str] = set()
        self._ended = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._watcher = watcher

    def __len__(self) -> int:
        return len(self._batches)

    def add(self, future: Any, batch: Batch) -> None:
        self._batches[future] = batch
        self._ended.add(future)

    def ended(self) -> list[tuple[Batch, Any]]:
        """Those that have ended since: the batch with what the worker returned, or an exception."""
        found = [
            (self._batches.pop(future), answer) for future, answer in self._ended.next_batch(block=False)
        ]
        for batch, _ in found:
            for task in batch:
                self._show(task)
                self._shown.discard(task.name)
        return found

    def show_running(self, slots: int) -> None:
        """Shows the tasks that probably run: the first ones, one per slot. The scheduler does not say."""
        for batch in itertools.islice(self._batches.values(), slots):
            self._show(batch[0])

    def _show(self, task: Task) -> None:
        if task.name not in self._shown:
            self._shown.add(task.name)
            self._watcher.run_begins(task.name, task.length_s)


def _batches(tasks: Iterable[Task], most: int) -> Iterator[Batch]:
    """Short runs together: handing a run out costs as much as computing a very short one."""
    batch: list[Task] = []
    length_s = 0.0
    for task in tasks:
        if batch and (len(batch) == most or length_s + task.length_s > _BATCH_S):
            yield tuple(batch)
            batch, length_s = [], 0.0
        batch.append(task)
        length_s += task.length_s
    if batch:
        yield tuple(batch)


def _check_answers(address: str) -> None:
    """Checks that a Dask scheduler answers at the address: a client would wait for it for ever."""
    from distributed.core import rpc  # noqa: PLC0415 - as above
    from distributed.security import Security  # noqa: PLC0415 - as above

    async def ask() -> None:
        secured = Security().get_connection_args("client")
        async with rpc(address, timeout=_CONNECT_S, connection_args=secured) as scheduler:
            await asyncio.wait_for(scheduler.identity(), _CONNECT_S)

    try:
        asyncio.run(ask())
    except Exception as error:  # whatever that address's protocol raises
        raise EngineError(
            f"--cluster: no Dask scheduler answers at {address!r}; "
            "expected an address such as tcp://10.0.0.1:8786, or local:4",
            what="cluster",
        ) from error


def own_version() -> str:
    return metadata.version("bentpipe")


def _workers_asked(address: str) -> int:
    count = address.removeprefix(LOCAL)
    if not count.isdecimal() or not 1 <= int(count) <= _MOST_LOCAL:
        raise EngineError(
            f"--cluster: found {address!r}; expected local: and a number of workers, such as local:4",
            what="cluster",
        )
    return int(count)


@contextlib.contextmanager
def _own_cluster(workers: int, scratch: Path, *, live: bool) -> Iterator[Any]:
    """A scheduler in this process and workers that die with it, all on loopback."""
    import dask  # noqa: PLC0415 - as above
    import distributed  # noqa: PLC0415 - as above

    spare: dict[str, object] = {
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.worker.profile.enabled": False,
        "distributed.admin.low-level-log-length": 100,
    }
    with dask.config.set(spare):
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host=_LOOPBACK,
            dashboard_address=f"{_LOOPBACK}:0",
            worker_dashboard_address=f"{_LOOPBACK}:0",
            local_directory=str(scratch),
            memory_limit=0,
            resources={LIVE: 1} if live else None,
            silence_logs=_QUIET,
            scheduler_kwargs={"allowed_failures": RETRIES},
        )
    try:
        yield cluster
    finally:
        for nanny in cluster.workers.values():  # they have nothing to hand over, and would take their time
            nanny.auto_restart = False
            with contextlib.suppress(OSError, TypeError):
                os.kill(nanny.pid, signal.SIGKILL)
        with contextlib.suppress(OSError, TimeoutError):
            cluster.close(timeout=_CLOSE_S)


def _close(client: Any) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        client.close(timeout=_CLOSE_S)


def _quieten() -> None:
    """What a cluster reports of lost workers and connections is said here in one line, or mended."""
    for name in (
        "distributed",
        "distributed.client",
        "distributed.scheduler",
        "distributed.nanny",
        "tornado",
    ):
        logging.getLogger(name).setLevel(_QUIET)
