"""The files of docs/cluster do what they say, with stand-ins for what is not on this machine."""

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from sweeping import rows, small_lab

from waiting import wait_for

LOOPBACK = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
FILES = Path(__file__).parents[2] / "docs" / "cluster"
CLUSTER = "a scheduler and workers are processes that load Dask, seconds each"


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that are found before the system's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return folder


def program(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def slurm() -> ModuleType:
    pytest.importorskip("dask_jobqueue")
    spec = importlib.util.spec_from_file_location("slurm", FILES / "slurm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_slurm_job_has_a_worker_for_each_core_that_leaves_before_its_time() -> None:
    from dask_jobqueue import SLURMCluster  # noqa: PLC0415 - for who builds and tests only

    job = slurm().A_JOB
    with SLURMCluster(**job, scheduler_options=LOOPBACK) as cluster:
        script = cluster.job_script()
    assert "#SBATCH -t 01:00:00" in script
    assert "#SBATCH --cpus-per-task=16" in script
    assert "--nthreads 1 " in script
    assert "--nworkers 16" in script
    assert "--lifetime 55m" in script


@pytest.mark.long(CLUSTER)
def test_the_slurm_file_runs_a_sweep_where_sbatch_begins_its_jobs(stand_ins: Path, tmp_path: Path) -> None:
    program(
        stand_ins,
        "sbatch",
        'cp "$1" "$TMPDIR/job.sh"; setsid sh "$TMPDIR/job.sh" >/dev/null 2>&1 & echo "Submitted job $!"',
    )
    program(stand_ins, "scancel", 'kill -- "-$1"')
    lab = small_lab(tmp_path)
    module = slurm()
    module.A_JOB |= {"cores": 1, "processes": 1, "memory": "1GB"}
    arguments = [
        "1",
        str(lab.file),
        "--engine",
        "sim",
        "--repeat",
        "2",
        "--quiet",
        "--out",
        str(tmp_path / "out"),
    ]
    assert module.main(arguments, scheduler_options=LOOPBACK) == 0
    lab.run(out=tmp_path / "here")
    assert rows(tmp_path / "out") == rows(tmp_path / "here")


@pytest.mark.long(CLUSTER)
def test_the_ssh_file_begins_workers_that_do_a_sweep_and_end_with_it(
    stand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(stand_ins, "ssh", 'echo "$2" >>"$TMPDIR/machines"; shift 2; exec sh -c "$*"')
    program(stand_ins, "nproc", "echo 1")
    monkeypatch.setenv("BENTPIPE", str(Path(sys.executable).parents[1]))
    monkeypatch.setenv("PORT", str(free_port()))
    command = ["sh", str(FILES / "ssh.sh"), "127.0.0.1", "one", "two"]
    lab = small_lab(tmp_path)
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as script:
        try:
            assert script.stdout is not None
            address = script.stdout.readline().decode().split()[-1]
            lab.run(out=tmp_path / "out", cluster=address)
        finally:
            script.send_signal(signal.SIGTERM)
    assert wait_for(lambda: not _group(script.pid))
    assert sorted((tmp_path / "machines").read_text().split()) == ["one", "two"]
    lab.run(out=tmp_path / "here")
    assert rows(tmp_path / "out") == rows(tmp_path / "here")


def free_port() -> int:
    """A port of loopback that stays free: below those that the kernel gives to whoever asks for any."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    first = lowest // 2
    for number in range(first):
        port = first + (os.getpid() + number) % first
        with contextlib.suppress(OSError), socket.socket() as free:
            free.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def _group(number: int) -> bool:
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.long(CLUSTER)
def test_the_kubernetes_file_names_its_own_scheduler_and_commands_that_there_are() -> None:
    yaml = pytest.importorskip("yaml")
    cluster, job = yaml.safe_load_all((FILES / "kubernetes.yaml").read_text())
    spec = cluster["spec"]
    name = cluster["metadata"]["name"]
    (run,) = job["spec"]["template"]["spec"]["containers"]
    (worker,) = spec["worker"]["spec"]["containers"]
    (scheduler,) = spec["scheduler"]["spec"]["containers"]
    assert spec["scheduler"]["service"]["selector"]["dask.org/cluster-name"] == name
    assert f"--cluster=tcp://{name}-scheduler:8786" in run["args"]
    assert len({each["image"] for each in (run, worker, scheduler)}) == 1
    assert {port["targetPort"] for port in spec["scheduler"]["service"]["ports"]} == {
        port["name"] for port in scheduler["ports"]
    }
    for each in (run, worker, scheduler):
        command = [sys.executable, "-m", *each["args"][:2], "--help"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        options = {word.partition("=")[0] for word in each["args"][2:] if word.startswith("--")}
        assert all(option in said for option in options)
