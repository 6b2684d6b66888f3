"""Sweeps on a Dask cluster: a real scheduler and real workers on this machine, some of which are killed."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from acting import Dying
from sweeping import rows, small_lab

import bentpipe
from bentpipe.errors import EngineError, EngineFaultError, ExecutorError
from bentpipe.sweep.executors import cluster
from bentpipe.sweep.executors.base import Task, TaskOutcome, Work
from bentpipe.sweep.executors.choice import Where
from bentpipe.sweep.run import execute
from bentpipe.sweep.watching import Quiet
from waiting import wait_for

pytest.importorskip("distributed")
CLUSTER = "a scheduler and workers are processes that load Dask, seconds each"


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def dask(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A scheduler or a worker as a user begins it, on loopback."""
    own = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    command = [sys.executable, "-m", "dask", *arguments, *own]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def scheduler(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    file = folder / "scheduler.json"
    with ended(dask(folder, "scheduler", "--port", "0", "--scheduler-file", str(file))) as process:
        assert wait_for(lambda: process.poll() is not None or is_whole(file))
        assert process.poll() is None, "the scheduler has ended"
        yield str(file), process


def is_whole(file: Path) -> bool:
    """A scheduler's file is written in parts."""
    return file.exists() and file.read_text().rstrip().endswith("}")


def worker(folder: Path, file: str, *more: str) -> subprocess.Popen[bytes]:
    return dask(folder, "worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny", *more)


def address_in(file: str) -> str:
    found: str = json.loads(Path(file).read_text())["address"]
    return found


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler with a worker, for tests that harm neither."""
    folder = tmp_path_factory.mktemp("standing")
    with scheduler(folder) as (file, _), ended(worker(folder, file)):
        yield address_in(file)


class Killing:
    """Ends a process once so many runs are kept."""

    def __init__(self, process: subprocess.Popen[bytes], after: int) -> None:
        self._process = process
        self._after = after

    def __call__(self, _record: Mapping[str, Any]) -> None:
        self._after -= 1
        if not self._after:
            self._process.send_signal(signal.SIGKILL)


def test_a_cluster_of_this_machines_own_leaves_the_same_runs_and_nothing_else(tmp_path: Path) -> None:
    lab = small_lab(tmp_path)
    lab.run(out=tmp_path / "out", cluster="local:2")
    lab.run(out=tmp_path / "one")
    assert rows(tmp_path / "out") == rows(tmp_path / "one")
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]
    assert {run["folder"] for run in bentpipe.Results.open(tmp_path / "out").records} == {
        str(tmp_path / "out" / name) for name in rows(tmp_path / "one")
    }


@pytest.mark.long(CLUSTER)
def test_a_killed_worker_loses_no_run_and_none_is_there_twice(tmp_path: Path) -> None:
    lab = small_lab(tmp_path, repeat=10)
    with (
        scheduler(tmp_path) as (file, _),
        ended(worker(tmp_path, file)) as first,
        ended(worker(tmp_path, file)),
    ):
        seen: list[str] = []
        kill = Killing(first, after=5)

        def on_record(record: Mapping[str, Any]) -> None:
            seen.append(f"{record['point']} {record['seed']}")
            kill(record)

        execute(
            lab,
            engine="sim",
            out=tmp_path / "out",
            where=Where(cluster=address_in(file)),
            on_record=on_record,
        )
    assert len(seen) == len(set(seen)) == 40
    lab.run(out=tmp_path / "undisturbed")
    assert rows(tmp_path / "out") == rows(tmp_path / "undisturbed")


@pytest.mark.long(CLUSTER)
def test_a_lost_scheduler_ends_the_sweep_which_goes_on_elsewhere(tmp_path: Path) -> None:
    lab = small_lab(tmp_path, repeat=10)
    with scheduler(tmp_path) as (file, process), ended(worker(tmp_path, file)):
        kill = Killing(process, after=5)
        with pytest.raises(ExecutorError, match="is lost; what was finished is kept"):
            execute(
                lab, engine="sim", out=tmp_path / "out", where=Where(cluster=address_in(file)), on_record=kill
            )
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*/run.json")}
    assert 5 <= len(kept) < 40
    lab.run(out=tmp_path / "out")
    assert kept == {path: path.stat().st_mtime_ns for path in kept}
    lab.run(out=tmp_path / "undisturbed")
    assert rows(tmp_path / "out") == rows(tmp_path / "undisturbed")


@pytest.mark.long(CLUSTER)
def test_a_client_that_has_closed_itself_has_lost_its_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, standing: str
) -> None:
    work = Work("sim", None, str(tmp_path))
    scratch = tmp_path / ".scratch"
    with cluster.joined(standing, work, live=False, scratch=scratch, watcher=Quiet()) as joined:
        closed: dict[str, Any] = {}  # what Client.scheduler_info answers once the client's status is "closed"
        monkeypatch.setattr(joined._client, "scheduler_info", lambda **_: closed)
        with pytest.raises(ExecutorError, match="is lost; what was finished is kept"):
            joined._look()


@pytest.mark.long(CLUSTER)
def test_a_worker_with_another_bentpipe_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, standing: str
) -> None:
    here = metadata.version("bentpipe")
    monkeypatch.setattr(cluster, "own_version", lambda: "0.0.1")
    with pytest.raises(EngineError, match=f"has bentpipe {here}, and here is 0.0.1"):
        small_lab(tmp_path).run(out=tmp_path / "out", cluster=standing)
    assert not (tmp_path / "out").exists()


@pytest.mark.long(CLUSTER)
def test_live_runs_want_a_worker_that_offers_the_resource(tmp_path: Path, standing: str) -> None:
    with pytest.raises(EngineError, match="offers the resource 'live'") as refused:
        small_lab(tmp_path).run(out=tmp_path / "sim", cluster=standing)  # once it is done the worker is there
        small_lab(tmp_path).run(engine="live", out=tmp_path / "out", cluster=standing)
    assert "--resources live=1" in str(refused.value)


@pytest.mark.long(CLUSTER)
def test_a_run_that_kills_its_workers_fails_and_those_beside_it_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "RETRIES", 0)
    work = Dying("sim", None, str(tmp_path))
    point: Any = None
    tasks = [Task(name, point, 1.0) for name in ("one", "dies", "two", "three")]
    with cluster.joined(
        "local:1", work, live=False, scratch=tmp_path / ".scratch", watcher=Quiet()
    ) as joined:
        found: dict[str, TaskOutcome] = {
            task.name: outcome for task, outcome in joined.outcomes(tasks, Quiet())
        }
    assert sorted(found) == ["dies", "one", "three", "two"]
    assert [name for name, outcome in found.items() if outcome.record is None] == ["dies"]
    assert isinstance(found["dies"].error, EngineFaultError)


class NoWorkers:
    """A client whose cluster has lost all of its workers."""

    def scheduler_info(self, n_workers: int) -> dict[str, dict[str, Any]]:
        assert n_workers == -1
        return {"workers": {}}


def test_workers_of_our_own_that_do_not_start_again_end_the_sweep_and_others_are_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_STARTS_AGAIN_S", 0.0)
    work = Dying("sim", None, str(tmp_path))
    with pytest.raises(ExecutorError, match="workers of local:1 ended and did not start again"):
        cluster.Cluster(NoWorkers(), "local:1", work, live=False, watcher=Quiet())
    assert cluster.Cluster(NoWorkers(), "tcp://10.0.0.1:8786", work, live=False, watcher=Quiet()).at_once == 1


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "somewhere", "smoke://signals", "tls://127.0.0.1:1"]
)
def test_where_nobody_answers_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 0.2)
    with pytest.raises(EngineError, match="no Dask scheduler answers at"):
        small_lab(tmp_path).run(out=tmp_path / "out", cluster=address)
    assert not (tmp_path / "out").exists()


def test_a_port_that_is_no_schedulers_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EngineError, match="no Dask scheduler answers at"):
            small_lab(tmp_path).run(out=tmp_path / "out", cluster=address)


@pytest.mark.parametrize("address", ["local:", "local:0", "local:many"])
def test_a_number_of_workers_that_is_none_is_said(tmp_path: Path, address: str) -> None:
    with pytest.raises(EngineError, match="such as local:4"):
        small_lab(tmp_path).run(out=tmp_path / "out", cluster=address)


def test_without_dask_the_command_that_installs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError) as refused:
        small_lab(tmp_path).run(out=tmp_path / "out", cluster="local:2")
    assert str(refused.value).endswith("pip install 'bentpipe[cluster]'")
