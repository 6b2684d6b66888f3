"""A lab that is started from the page: its samples, its end, its cancelling, and the server's own end."""

import itertools
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from bentpipe.web.jobs import Job
from local_web import Running, served
from waiting import LONG_S, wait_for

LAB = """
[path]
rate = "16 Mbit/s"
rtt = "550 ms"
queue = "100 kB"

[[workload]]
name = "download"
kind = "bulk"
direction = "down"
time = "{seconds} s"
"""
LONG = LAB.format(seconds=200_000)
"""Minutes of simulation."""
PROCESSES = "a server and a lab are processes of their own; one signal is always tried"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, page: Path) -> Iterator[Running]:
    assert page.is_file()
    with served(tmp_path_factory.mktemp("web") / "runs") as running:
        yield running


def start(server: Running, text: str, **more: object) -> None:
    status, answer = server.post("start", {"lab": "mine", "text": text, "engine": "sim", **more})
    assert status == 200, answer


def test_a_lab_runs_to_its_end_and_its_bins_come(server: Running) -> None:
    start(server, LAB.format(seconds=5), repeat=2)
    job = server.until("done", "failed")
    assert (job["status"], job["runs"], job["ended"], job["message"]) == ("done", 2, 2, "")
    assert job["completed_s"] == pytest.approx(job["length_s"])
    message = next(server.messages())
    names, down = message["series"]["names"], message["series"]["pipes"]["down"]
    goodput = down["columns"][names.index("goodput_mbit_s")]
    assert len(goodput) == len(down["time_s"]) > 20
    assert 10 < max(goodput) <= 16
    folder = server.folder / job["folder"]
    assert len(list(folder.glob("*/run.json"))) == 2
    kept = pl.read_parquet(folder / message["job"]["run"] / "link.parquet").filter(pl.col("pipe") == "down")
    assert down["time_s"] == pytest.approx(kept["time_s"].to_list())  # each bin once, none dropped
    assert not list(folder.glob("*/raw"))
    assert not list(folder.glob(".*.part"))
    status, report = server.get(f"/{reports(server)}/{job['folder']}")
    assert status == 200
    assert b"<!doctype html>" in report[:100].lower()
    status, found = server.post(
        "query", {"folders": [job["folder"]], "sql": "select count(*) as n from runs"}
    )
    assert (status, found["rows"]) == (200, [["2"]])
    runs = [each["id"] for each in server.get("runs?text=mine")[1]["rows"]]
    query = "&".join(f"run={each}" for each in runs)
    assert len(server.get(f"curves?{query}")[1]["runs"]) == 2
    assert server.get(f"compare?{query}")[0] == 200
    assert server.get(f"heat?folder={job['folder']}")[1]["maps"] == []


def reports(server: Running) -> str:
    return str(server.get("facts")[1]["reports"])


def test_a_run_is_seen_while_it_goes_on_and_cancelling_leaves_nothing(server: Running) -> None:
    start(server, LONG)
    for message in server.messages():
        if message["series"]["pipes"]["down"]["time_s"]:
            break
    assert message["job"]["status"] == "running"
    status, answer = server.post("start", {"lab": "mine", "text": LONG, "engine": "sim"})
    assert status == 400
    assert answer["error"].startswith("a lab is running already")
    assert server.post("cancel", {})[0] == 200
    job = server.until("cancelled")
    assert (job["ended"], job["message"]) == (0, "")
    assert not (server.folder / job["folder"]).exists()
    assert server.post("cancel", {})[0] == 200  # nothing to cancel


def test_a_lab_at_fault_is_said(server: Running) -> None:
    start(server, "[path]\nrate = 5\n")
    job = server.until("failed")
    assert "path.rate" in job["message"]
    start(server, LAB.format(seconds=1), set=["path.nonsense=3"])
    assert "nonsense" in server.until("failed")["message"]


def test_a_labs_commands_are_not_run(server: Running) -> None:
    exec_ = (
        LAB.format(seconds=1)
        + '\n[[workload]]\nname = "own"\nkind = "exec"\ncommand = ["touch", "/tmp/never"]\n'
    )
    start(server, exec_, engine="live")
    assert "starts no commands" in server.until("failed")["message"]


def test_no_change_of_a_shipped_lab_makes_a_workload_a_command(server: Running) -> None:
    """In a terminal a lab that comes with bentpipe may run its commands."""
    changes = ['workload.download.kind="exec"', 'workload.download.command=["touch", "/tmp/never"]']
    asked = {"lab": "effects-of-latency", "text": None, "engine": "live", "set": changes, "repeat": None}
    assert server.post("start", asked)[0] == 200
    assert "workload.download" in server.until("failed")["message"]


def test_two_starts_at_once_begin_one_lab(server: Running) -> None:
    asked = {"lab": "mine", "text": LONG, "engine": "sim"}
    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(lambda _: server.post("start", asked)[0], range(8)))
    assert sorted(statuses) == [200] + [400] * 7
    assert server.post("cancel", {})[0] == 200


def children(process: subprocess.Popen[str]) -> list[int]:
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(each) for each in found.read_text().split()] if found.exists() else []


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.long(PROCESSES)),
        pytest.param(signal.SIGTERM, marks=pytest.mark.long(PROCESSES)),
        signal.SIGKILL,
    ],
)
def test_no_run_outlives_the_server(page: Path, tmp_path: Path, number: signal.Signals) -> None:
    assert page.is_file()
    with served(tmp_path / "runs") as running:
        start(running, LONG)
        running.until("running")
        (child,) = children(running.process)
        running.process.send_signal(number)
        status = running.process.wait(LONG_S)
        assert status == (-signal.SIGKILL if number == signal.SIGKILL else 0)
        assert wait_for(lambda: not _lives(child))
    assert not list((tmp_path / "runs").glob("*/.*.part"))


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_port_in_use_is_said(tmp_path: Path, page: Path) -> None:
    assert page.is_file()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "bentpipe",
            "web",
            "--no-open",
            "--port",
            str(port),
            "--runs",
            str(tmp_path),
        ]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG_S)
    assert ended.returncode == 2
    assert f"--port: {port} cannot be used: Address already in use" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_page_that_reads_slowly_gets_the_newest_and_not_all() -> None:
    """What is kept for it does not grow with what it has missed."""
    job = Job(1, {"lab": "x", "engine": "sim", "out": "runs/x"}, None)  # type: ignore[arg-type]
    job.hear({"event": "begins", "runs": 1, "ended": 0, "failed": 0})
    job.hear({"event": "run", "name": "one", "runs": 1})
    for first in itertools.islice(itertools.count(0, 100), 2000):
        bins = [["down", 0.1 * (first + at), [1.0] * 7] for at in range(100)]
        job.hear({"event": "bins", "name": "one", "bins": bins, "anew": False})
        job.hear({"event": "says", "line": "x"})
    assert job.generation > 1
    assert len(json.dumps(job.series.since({}))) < 200_000
    assert len(job.lines) == 100


def test_a_watch_of_this_hosts_connections_is_told_and_ends(server: Running) -> None:
    status, answer = server.post("watch/start", {"what": "port:1", "for_s": 0.2})
    assert status == 200, answer
    for message in server.messages("watch"):
        if message["status"] == "over":
            break
    assert (message["words"], message["passed_s"]) == ("port 1", 0.2)
    assert message["lines"] == ["No transfer was sampled, so nothing can be told."]
    status, answer = server.post("watch/start", {"what": "pid:999999999"})
    assert status == 400
    assert "no such process is running" in answer["error"]
