"""What the hosts' programs went without is measured, and a run that suffers from it is marked."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ordinary import NOBODY, bentpipe_as_nobody

from beside import beside
from waiting import LONG_S, wait_for

LAB = """
duration = "20 s"
until = "done"
[path]
rtt = "30 ms"
rate = "10 Mbit/s"
[limits]
lateness_p99 = "1 h"
unintended_loss = 1000000
rate_error = 1
"""
BULK = (
    LAB
    + """
[[workload]]
name = "load"
kind = "bulk"
time = "4 s"
"""
)
# Starved threads wait in turns, each for what the other has not done: 50 to 80 % of the time each, by chance.
# What the default of the limit is worth `make bench-hosts` measures.
CHANNELS_S = 5
CHANNELS = (
    LAB.replace('"20 s"\nuntil = "done"', '"5 s"').replace("10 Mbit/s", "100 Mbit/s")
    + """
channels_wait_share = 0.3
[[workload]]
name = "island"
kind = "channels"
channels = 1000
servers = 23
size = { distribution = "bounded-pareto", shape = 0.8, min = "500 B", max = "50 MB" }
terrestrial = { delay = { distribution = "lognormal", median = "60 ms", sigma = 0.8 } }
"""
)
PAGES = (
    LAB
    + """
[[workload]]
name = "web"
kind = "http"
size = "10 kB"
fetches = 3
"""
)

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can be both"),
]


@pytest.fixture
def run(user: str) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Runs a lab as that user and gives its record. Nobody's folder is not one of pytest's own."""
    with tempfile.TemporaryDirectory(prefix="bentpipe-hosts-", ignore_cleanup_errors=True) as name:
        place = Path(name)
        place.chmod(0o755)
        home = place / "home"
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)

        def record(lab: str) -> dict[str, Any]:
            (home / "lab.toml").write_text(lab)
            arguments = ["run", "lab.toml", "--engine", "live", "--allow-exec", "--quiet", "--out", "out"]
            if user == "ordinary":
                said = bentpipe_as_nobody(arguments, home, place)
            else:
                command = [sys.executable, "-m", "bentpipe", *arguments]
                said = subprocess.run(
                    command, cwd=home, capture_output=True, text=True, timeout=LONG_S, check=False
                )
            assert said.returncode in (0, 1), said.stderr
            [found] = home.glob("out/*/run.json")
            return json.loads(found.read_text())

        yield record


def descendants(pid: int) -> list[int]:
    found = []
    for task in threads(pid):
        with contextlib.suppress(OSError):
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *descendants(child)]
    return found


def threads(pid: int) -> list[Path]:
    """None of a process that has ended."""
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def iperf3_server() -> int | None:
    for pid in descendants(os.getpid()):
        try:
            argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if argv[0].endswith(b"iperf3") and b"-s" in argv:
            return pid
    return None


def sending_server(over: threading.Event) -> int:
    """The iperf3 server's process number, as soon as the connection that carries data is open."""
    while not over.wait(0.01):
        server = iperf3_server()
        if server is not None and connections(server) == 2:
            return server
    raise AssertionError("the run was over before its transfer was seen")


def connections(server: int) -> int:
    """How many established connections the host of an iperf3 server has at the server's port."""
    established, port = "01", f":{5201:04X}"
    found = 0
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            rows = Path(f"/proc/{server}/net/{table}").read_text().splitlines()[1:]
            found += sum(
                local.endswith(port) and state == established
                for _, local, _, state, *_ in map(str.split, rows)
            )
    return found


def test_a_server_program_that_was_stopped_marks_the_run_and_is_named(
    run: Callable[[str], dict[str, Any]],
) -> None:
    def stop_for_2_s(over: threading.Event) -> None:
        server = sending_server(over)
        time.sleep(0.5)
        os.kill(server, signal.SIGSTOP)
        time.sleep(2)
        os.kill(server, signal.SIGCONT)

    with beside(stop_for_2_s):
        record = run(BULK)
    assert record["reliable"] is False
    assert any("iperf3 on the server was stopped for about" in why for why in record["why"])
    error = record["engine_error"]
    [iperf3] = [each for each in error["hosts"]["server"]["programs"] if each["program"] == "iperf3"]
    assert error["hosts"]["server"]["stopped_s"] == iperf3["stopped_s"] > 1
    assert 0 < iperf3["stopped_at_s"] < 15
    assert error["hosts"]["client"]["stopped_s"] == 0


def test_a_program_that_was_stopped_before_the_first_look_at_it_marks_the_run(
    run: Callable[[str], dict[str, Any]],
) -> None:
    script = "(sleep 2; kill -CONT $$) & kill -STOP $$; sleep 1"
    record = run(f'{LAB}[[workload]]\nname = "command"\nkind = "exec"\ncommand = ["sh", "-c", "{script}"]\n')
    assert record["status"] == "done", record["why"]
    assert record["reliable"] is False
    assert any(why.startswith("sh on the client was stopped for about") for why in record["why"])
    [sh] = [each for each in record["engine_error"]["hosts"]["client"]["programs"] if each["program"] == "sh"]
    assert sh["stopped_s"] > 1


def channels_threads() -> list[int]:
    """Of the workload `channels`: the clients' and the servers'."""
    found = []
    for pid in descendants(os.getpid()):
        for task in threads(pid):
            with contextlib.suppress(OSError):
                if (task / "comm").read_text().strip() in ("channels", "channel servers"):
                    found.append(int(task.name))
    return found


# Eight processes that never wait, until the one that began them is gone.
BUSY = """
import os
tests = os.getppid()
for _ in range(7):
    if os.fork() == 0:
        break
while os.path.exists(f"/proc/{tests}"):
    pass
"""


@pytest.mark.alone
def test_channels_whose_threads_waited_mark_the_run(run: Callable[[str], dict[str, Any]]) -> None:
    busy: list[subprocess.Popen[bytes]] = []

    def starve(over: threading.Event) -> None:
        assert wait_for(lambda: len(channels_threads()) == 2 or over.is_set())
        # Linux divides processors among sessions first (autogroups, sched(7)). The busy processes have one of
        # their own, and the channels' session gets the smallest share: with the same one it waits too little
        # on a fast machine.
        busy.append(subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True))
        starved_until = time.monotonic() + CHANNELS_S
        # Until the end: a thread has its name before it asks for its own priority, and those of the run
        # before may be seen first.
        while not over.wait(0.05):
            if time.monotonic() > starved_until:
                os.killpg(busy[0].pid, signal.SIGKILL)  # what comes after the run need not wait as well
            for thread in channels_threads():
                with contextlib.suppress(OSError):  # where sessions have no shares
                    Path(f"/proc/{thread}/autogroup").write_text("19")
                with contextlib.suppress(OSError):
                    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
                    os.setpriority(os.PRIO_PROCESS, thread, 19)

    try:
        with beside(starve):
            record = run(CHANNELS)
    finally:
        for session in busy:
            os.killpg(session.pid, signal.SIGKILL)
            session.wait()
    hosts = record["engine_error"]["hosts"]
    assert {each["program"] for each in hosts["client"]["programs"]} == {"channels"}
    assert {each["program"] for each in hosts["server"]["programs"]} == {"channel servers"}
    assert record["reliable"] is False
    assert any(
        why.startswith(("channels on the client waited", "channel servers on the server waited"))
        for why in record["why"]
    ), record["why"]


def test_every_program_of_a_host_is_seen_and_its_figures_fit_together(
    run: Callable[[str], dict[str, Any]],
) -> None:
    record = run(PAGES)
    assert record["status"] == "done", record["why"]
    error = record["engine_error"]
    named = {host: {each["program"] for each in found["programs"]} for host, found in error["hosts"].items()}
    assert "curl" in named["client"]
    # The engine looks by a program of its own whether nginx listens; that is not the run's work.
    assert named["server"] == {"nginx"}
    for host in error["hosts"].values():
        for each in host["programs"]:
            assert each["threads"] >= 1
            assert each["ran_s"] > 0
            assert 0 <= each["wait_share"] <= host["wait_share"] <= 1
            assert 0 <= each["wait_max_ms"] / 1e3 <= each["waited_s"] + 1e-9
            assert each["wait_max_ms"] <= host["wait_max_ms"]
            assert (each["stopped_s"], each["stopped_at_s"]) == (0, None)
    # Each fetch is a curl of its own, shorter than the time between two looks.
    [curl] = [each for each in error["hosts"]["client"]["programs"] if each["program"] == "curl"]
    assert curl["threads"] == 3
    assert 0 <= error["sampler_late_ms_p99"] <= error["sampler_late_ms_max"]
    assert all(each["program"].startswith("ksoftirqd") for each in error["kernel_threads"])
