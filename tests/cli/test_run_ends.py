"""However a simulated run ends, it says so and leaves nothing half-written."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

from processes import marked

import bentpipe
from invocation import PLAIN, Command
from waiting import LONG_S, wait_for

LONG_SIM = (
    PLAIN.replace("20 Mbit/s", "1 Gbit/s")
    + '[[workload]]\nname = "download"\nkind = "bulk"\ndirection = "down"\nsize = "200 MB"\n'
)


def test_ctrl_c_leaves_no_half_written_run_of_several_at_once(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG_SIM)
    command = [
        sys.executable,
        "-m",
        "bentpipe",
        "run",
        "long.toml",
        "--engine",
        "sim",
        "--jobs",
        "2",
        "--json",
    ]
    command += ["--repeat", "40", "--out", "out", "--quiet"]
    mark = {"BENTPIPE_TEST": str(tmp_path)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | mark, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        assert wait_for(lambda: bool(list((tmp_path / "out").glob(".*.part"))))
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=LONG_S)
    assert running.returncode == 130
    assert wait_for(lambda: not marked(str(tmp_path)))
    assert not list((tmp_path / "out").glob(".*"))
    assert bentpipe.Results.open(tmp_path / "out").records


def test_a_long_call_into_a_library_does_not_put_the_end_off(tmp_path: Path) -> None:
    """A sleep in C, in a thread that signals do not wake, stands for the call."""
    program = """
import ctypes, pathlib, signal
from bentpipe import interruption
from bentpipe.runs.folder import RunFolder
RunFolder.create(pathlib.Path("out"), "run")
interruption.watch()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
signal.signal(signal.SIGINT, lambda *_: None)  # in case it comes before the call has begun
print("ready", flush=True)
ctypes.CDLL(None).sleep(1000)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=LONG_S)
    assert running.returncode == 130
    assert b"interrupted" in said
    assert list((tmp_path / "out").iterdir()) == []


def test_a_disk_that_is_full_is_named_and_so_is_what_becomes_of_the_run(
    start: Command, tmp_path: Path
) -> None:
    """A limit on the size of files stands for it: the kernel refuses in the same place."""
    least = (40_000, 40_000)
    (tmp_path / "long.toml").write_text(PLAIN.replace("count = 3", "count = 3000"))
    said = start(
        "run", "long.toml", "--engine", "sim", "--out", "out", "--quiet",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, least),
    )  # fmt: skip
    assert said.status == 1
    assert said.stderr.startswith("bentpipe: ")
    assert "the run under way is discarded" in said.stderr
    assert len(said.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()
