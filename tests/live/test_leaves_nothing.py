"""kill -9 of anything, at any moment, leaves no process and no namespace behind.

Every process of a run inherits a mark in its environment, by which it is found in /proc wherever it went.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from hosting import Host, refusal

from waiting import LONG_S, wait_for

# The number of a namespace that has gone is given to the next one that anybody makes.
pytestmark = [pytest.mark.live, pytest.mark.alone]

KINDS = ("net", "mnt", "pid", "user")
MOMENTS_S = (0.0, 0.1, 0.2, 0.4, 0.8)


def marked(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def links(pid: int) -> set[str]:
    """Everything that a process is in or has open, by the kernel's names (`net:[4026531840]`).

    One that has ended and waits for its parent to ask has nothing.
    """
    found: set[str] = set()
    with contextlib.suppress(OSError):
        if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
            return found
        paths = [Path(f"/proc/{pid}/ns/{kind}") for kind in KINDS]
        paths += Path(f"/proc/{pid}/fd").iterdir()
        for path in paths:
            with contextlib.suppress(OSError):
                found.add(str(path.readlink()))
    return found


def namespaces_of(pids: list[int]) -> set[str]:
    ours = links(os.getpid())
    return {link for pid in pids for link in links(pid) if link.split(":")[0] in KINDS} - ours


def holders(namespaces: set[str]) -> list[int]:
    """Processes that are in one of the namespaces or have it open, and mounts that keep it."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    mounts = Path("/proc/self/mountinfo").read_text()
    assert not any(f" {namespace} " in mounts for namespace in namespaces)
    return [pid for pid in pids if links(pid) & namespaces]


def kill(pid: int | None) -> None:
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("moment_s", MOMENTS_S)
@pytest.mark.parametrize("victim", ["driver", "host", "init"])
def test_whoever_is_killed_whenever_nothing_is_left(
    victim: str, moment_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = "ordinary" if (MOMENTS_S.index(moment_s) + len(victim)) % 2 else "root"
    if why := refusal(user):
        pytest.skip(why)
    mark = f"bentpipe-{uuid.uuid4()}"
    monkeypatch.setenv("BENTPIPE_TEST_MARK", mark)
    note = tmp_path / "raw_folder_path"
    driver = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("hosting.py"), user, note],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        start_new_session=True,
    )
    monkeypatch.delenv("BENTPIPE_TEST_MARK")
    try:
        time.sleep(moment_s)
        seen = namespaces_of(marked(mark))
        hosts = children(driver.pid)
        if victim == "host":
            kill(next(iter(hosts), None))
        elif victim == "init":
            kill(next((child for host in hosts for child in children(host)), None))
        # The driver of a host that died is of no more use, whoever was killed first.
        kill(driver.pid)
        driver.wait()
        assert wait_for(lambda: not marked(mark)), marked(mark)
        assert wait_for(lambda: not holders(seen)), holders(seen)
    finally:
        for pid in marked(mark):
            kill(pid)
        if note.exists():
            shutil.rmtree(note.read_text(), ignore_errors=True)


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def test_the_programs_die_with_the_first_process_alone(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"bentpipe-{uuid.uuid4()}"
    monkeypatch.setenv("BENTPIPE_TEST_MARK", mark)
    with Host(user) as host:
        monkeypatch.delenv("BENTPIPE_TEST_MARK")
        host.setup()
        host.start()
        host.spawn("a", "client", ["sh", "-c", "setsid sleep 1000 & exec sleep 1000"])
        assert wait_for(lambda: len(marked(mark)) == 4)
        seen = namespaces_of(marked(mark))
        assert len(seen) >= len(KINDS) - 1
        kill(host.init())
        assert wait_for(lambda: not marked(mark)), marked(mark)
        assert host.process.wait(LONG_S) == 128 + signal.SIGKILL
    assert wait_for(lambda: not holders(seen)), holders(seen)


def test_the_end_of_the_control_socket_ends_everything(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"bentpipe-{uuid.uuid4()}"
    monkeypatch.setenv("BENTPIPE_TEST_MARK", mark)
    with Host(user) as host:
        monkeypatch.delenv("BENTPIPE_TEST_MARK")
        host.setup()
        host.start()
        host.spawn("a", "server", ["sh", "-c", "setsid sleep 1000 & exec sleep 1000"])
        host.control.shutdown(2)
        assert wait_for(lambda: not marked(mark)), marked(mark)
